import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { coerce, satisfies } from 'semver';

interface Package {
  engines?: { node?: string };
  dev?: boolean;
}

const { optionalDependencies, scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as Record<
  'optionalDependencies' | 'scripts',
  Record<string, string>
>;
const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Package> };
const { version, packages: names } = jest.requireActual<{ version: string; packages: Record<string, string> }>(
  '../../tools/runtime.cjs',
);
const here = names[`${process.platform}-${process.arch}`]!;

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-runtime-'));
  for (const path of ['tools/runtime.cjs', 'package.json']) cpSync(path, join(folder, path), { recursive: true });
  writeFileSync(join(folder, 'program.cjs'), program);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Takes itself for the version in FAKE_VERSION the first time, and tells which one it runs on. */
const program = `
  const fake = process.env.FAKE_VERSION;
  delete process.env.FAKE_VERSION;
  if (fake) Object.defineProperty(process, 'versions', { value: { ...process.versions, node: fake } });
  require('./tools/runtime.cjs').onRuntime().then(() => {
    if (process.argv[2] === 'wait') process.on('SIGTERM', () => process.exit(7)), setInterval(() => {}, 1_000);
    console.log(process.versions.node, process.execArgv.join(' '), process.argv.slice(2).join(' '));
  });`;

const args = ['--no-warnings', 'program.cjs', 'a', 'b'];
const run = (fake: string) =>
  spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8', env: { ...process.env, FAKE_VERSION: fake } });

/** A package of Node whose program is the given one. */
function install(write: (path: string) => void): void {
  const path = join(folder, 'node_modules', here);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'package.json'), JSON.stringify({ bin: { node: 'node' } }));
  write(join(path, 'node'));
}

const installThis = () =>
  install((path) => writeFileSync(path, `#!/bin/sh\nexec ${process.execPath} "$@"\n`, { mode: 0o755 }));
/** Fails as a program does whose loader the system lacks. */
const installForeign = () => install((path) => writeFileSync(path, '#!/loader/of/another/libc\n', { mode: 0o755 }));

it('runs on the version of Node that the packages bring, which is the same for all platforms', () => {
  expect(process.versions.node).toBe(version);
  expect(Object.values(names).map((name) => optionalDependencies[name])).toEqual(
    Object.values(names).map(() => version),
  );
});

it('locks no package that refuses the version of Node', () => {
  const refusing = Object.entries(packages).filter(
    ([, { engines }]) => engines?.node && !satisfies(version, engines.node),
  );

  expect(refusing.map(([path]) => path)).toEqual([]);
});

it('installs and starts by scripts that the oldest Node can run', () => {
  expect(scripts['prepare']).toBe('node tools/enable-git-hooks.mjs');
  expect(scripts['start']).toBe('node tools/start.cjs');
});

it.each(['10.24.1', '20.19.0', '99.0.0'])('starts what Node %s has started again, with the same arguments', (other) => {
  installThis();

  const { status, stdout, stderr } = run(other);

  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: `${version} --no-warnings a b\n`, stderr: '' });
});

it('passes on signals and the exit code to the other Node', async () => {
  installThis();
  const env = { ...process.env, FAKE_VERSION: '20.19.0' };
  const child = spawn(process.execPath, ['program.cjs', 'wait'], { cwd: folder, env, stdio: 'pipe' });
  const ended = new Promise((resolve) => child.once('exit', resolve));

  for await (const line of child.stdout) if (String(line).startsWith(version)) break;
  child.kill('SIGTERM');

  expect(await ended).toBe(7);
  expect(await text(child.stderr)).toBe('');
});

describe.each([
  [
    'is missing',
    () => undefined,
    `the package ${here} is missing (MODULE_NOT_FOUND): run npm ci without --omit=optional`,
  ],
  ['does not start', installForeign, `${here}/node does not start here (ENOENT)`],
])('where the package of Node %s', (_name, prepare, problem) => {
  const major = coerce(version)!.major;

  it('uses the same major version of Node', () => {
    prepare();
    const other = `${major}.0.0`;

    const { status, stdout, stderr } = run(other);

    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: `${other} --no-warnings a b\n`, stderr: '' });
  });

  it('refuses to start on another version of Node in one line', () => {
    prepare();

    const { status, stdout, stderr } = run('20.19.0');

    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toContain(problem);
    expect(stderr).toMatch(
      new RegExp(`^Parley runs on Node .*Install Node ${major} to use it instead of Node 20.19.0.\n$`),
    );
  });
});
