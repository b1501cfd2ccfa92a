import { chmod, mkdtemp, readFile, rm, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientOf } from '@parley/testing/api';
import { until } from '@parley/testing/until';
import { run, startEmbedded } from '@parley/testing/running-platform';
import { describePlatform } from './platform.behaviour';

jest.setTimeout(90_000);

describePlatform('embedded mode', () => startEmbedded());

describe('embedded mode on one machine', () => {
  let dataDir: string;

  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'parley-machine-'));
    await chmod(dataDir, 0o755);
  });

  afterEach(async () => {
    await rm(dataDir, { recursive: true, force: true });
  });

  function standalone() {
    return run('dist/apps/standalone/src/main.js', { PORT: '0', PARLEY_DATA_DIR: dataDir });
  }

  async function credentials() {
    return JSON.parse(await readFile(join(dataDir, 'credentials.json'), 'utf8')) as {
      url: string;
      token: string;
      workspaceId: string;
    };
  }

  it('prints the first token once, and keeps it where only its owner can read it', async () => {
    const first = standalone();
    await first.said(/Try {8}npm run demo/);
    const { token } = await credentials();
    await first.stop();

    const second = standalone();
    await second.said(/Try {8}npm run demo/);
    await second.stop();

    expect(first.output()).toContain(token);
    expect(second.output()).not.toContain(token);
    expect((await credentials()).token).toBe(token);
    expect((await stat(join(dataDir, 'credentials.json'))).mode & 0o777).toBe(0o600);
  });

  it('finishes after kill -9 what was under way, and has lost nothing', async () => {
    const first = standalone();
    await first.said(/Parley is ready/);
    const { bot } = await clientOf(await credentials()).createBot({});
    const client = clientOf(await credentials(), bot.id);
    const content = Array.from({ length: 400 }, (_, line) => `Line ${line} tells of the sea and of ships.`).join(
      '\n\n',
    );
    const { file } = await client.uploadFile({ key: 'sea.txt', content, index: true });

    process.kill(first.pid, 'SIGKILL');
    await first.ended;
    const second = standalone();
    await second.said(/Parley is ready/);

    const again = clientOf(await credentials(), bot.id);
    const status = async () => (await again.getFile({ id: file.id })).file.status;
    expect(await until(status, (found) => found.startsWith('indexing_') && found !== 'indexing_pending', 60_000)).toBe(
      'indexing_completed',
    );
    const passages = await again.list.filePassages({ id: file.id }).collect();
    const found = passages.flatMap((passage) => passage.content.match(/Line \d+/g) ?? []);
    expect(found).toEqual(Array.from({ length: 400 }, (_, line) => `Line ${line}`));
    await second.stop();
  });

  it('lets one process use a data folder, and tells the second one where the first is', async () => {
    const first = standalone();
    await first.said(/Parley is ready/);

    const second = standalone();
    await second.ended;

    expect(second.output()).toContain((await credentials()).url);
    expect(second.output()).toContain(`kill ${first.pid}`);
    await first.stop();
  });

  it('makes credentials.json anew when it was lost', async () => {
    const first = standalone();
    await first.said(/Parley is ready/);
    await first.stop();
    await unlink(join(dataDir, 'credentials.json'));

    const second = standalone();
    await second.said(/Parley is ready/);

    const found = await credentials();
    expect((await clientOf(found).listWorkspaces({})).workspaces.map(({ id }) => id)).toContain(found.workspaceId);
    await second.stop();
  });

  it('serves on for as long as it is told to when it stops, and says that it is not ready', async () => {
    const platform = run('dist/apps/standalone/src/main.js', {
      PORT: '0',
      PARLEY_DATA_DIR: dataDir,
      SHUTDOWN_GRACE_MS: '3000',
    });
    await platform.said(/Parley is ready/);
    const { url } = await credentials();
    const statusOf = async (path: string) => (await fetch(`${url}${path}`)).status;

    process.kill(platform.pid, 'SIGTERM');
    const started = performance.now();

    await until(
      () => statusOf('/readyz'),
      (status) => status === 503,
    );
    expect(await statusOf('/healthz')).toBe(200);
    await platform.ended;
    expect(performance.now() - started).toBeGreaterThan(2_900);
  });

  it('runs the demo from the first line of its output to the passages', async () => {
    const platform = standalone();
    await platform.said(/Parley is ready/);

    const demo = run('dist/apps/cli/src/demo.js', { PARLEY_DATA_DIR: dataDir }, ['README.md', 'docs/example.html']);
    await demo.ended;

    expect(demo.output()).toMatch(/README\.md {2}indexing_completed/);
    expect(demo.output()).toMatch(/example\.html {2}indexing_completed/);
    expect(demo.output()).toMatch(/\[0\] (title|paragraph|code|list|table)/);
    await platform.stop();
  });
});
