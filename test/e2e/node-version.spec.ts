import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { satisfies } from 'semver';

const { engines } = JSON.parse(readFileSync('package.json', 'utf8')) as { engines: { node: string } };

/** The script of `npm start` in a process that takes itself for this version of Node. */
function start(version: string) {
  const program = `
    Object.defineProperty(process, 'version', { value: '${version}' });
    require('./tools/start.cjs');`;
  return spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
}

it.each(['v10.24.1', 'v18.20.8', 'v20.18.3', 'v22.11.0'])(
  'refuses Node %s in one line before anything is loaded',
  (version) => {
    const { status, stdout, stderr } = start(version);

    expect(stderr).toBe(
      `Parley needs Node.js ${engines.node}, and this is ${version}: install another version, such as the latest 22.\n`,
    );
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  },
);

it('is started by a script that the oldest versions can parse', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

  expect(scripts['start']).toBe('node tools/start.cjs');
  expect(satisfies(process.version, engines.node)).toBe(true);
});
