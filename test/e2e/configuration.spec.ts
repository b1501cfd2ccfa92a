import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '@parley/testing/running-platform';

let dataDir: string;

function standalone(env: Record<string, string> = {}) {
  return run('dist/apps/standalone/src/main.js', { PORT: '0', PARLEY_DATA_DIR: dataDir, ...env });
}

async function newDataDir(): Promise<void> {
  dataDir = await mkdtemp(join(tmpdir(), 'parley-machine-'));
  // As root, Postgres runs as another user, which passes through.
  await chmod(dataDir, 0o711);
}

const removeDataDir = () => rm(dataDir, { recursive: true, force: true });

describe('embedded mode with an invalid configuration', () => {
  beforeAll(newDataDir);
  afterAll(removeDataDir);

  it('lists all invalid variables of all apps before anything starts', async () => {
    const platform = standalone({ PORT: 'abc', RATE_LIMIT_PER_SECOND: '-1', PARLEY_SECRET_KEY: 'short' });
    await platform.ended;

    expect(
      platform
        .output()
        .match(/^ {2}- \S+/gm)!
        .toSorted(),
    ).toEqual(['  - PARLEY_SECRET_KEY', '  - PORT', '  - RATE_LIMIT_PER_SECOND']);
    expect(await readdir(dataDir)).toEqual([]);
  });

  it.each([
    [
      { DATABASE_URL: 'postgres://ann:hidden@127.0.0.1:1/x' },
      'Cannot connect to the Postgres of DATABASE_URL at 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1.',
    ],
    [{ HOST: '192.0.2.1' }, 'Cannot listen on 192.0.2.1: listen EADDRNOTAVAIL'],
  ])('reports the invalid configuration %j in one sentence', async (env, sentence) => {
    const platform = standalone(env);
    await platform.ended;

    expect(platform.output()).toContain(`Parley could not start.\n${sentence}`);
    expect(platform.output()).not.toMatch(/hidden|"level"|\n {4}at /);
  });

  it('warns about an unknown variable with the nearest known one, and reports an unusable data folder in one sentence', async () => {
    const platform = standalone({ PARLEY_DATADIR: '/data', PARLEY_DATA_DIR: 'package.json' });
    await platform.ended;

    const lines = platform.output().split('\n');
    const others = lines.filter((line) => !line.startsWith('{')).join('\n');
    expect(lines.filter((line) => line.startsWith('{'))).toEqual([
      expect.stringMatching(/"level":40.*PARLEY_DATADIR is not a variable .* Did you mean PARLEY_DATA_DIR\?"}$/),
    ]);
    expect(others).toContain(
      `Parley could not start.\nCannot use the data folder ${join(process.cwd(), 'package.json')} as user `,
    );
    expect(others).not.toMatch(/"level"|\n {4}at /);
  });
});
