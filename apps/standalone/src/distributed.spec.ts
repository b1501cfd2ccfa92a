import { hasNatsServer } from '@parley/testing/nats-server';
import { run, startDistributed } from '@parley/testing/running-platform';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { describePlatform } from './platform.behaviour';

jest.setTimeout(90_000);
const suite = hasNatsServer() ? describe : describe.skip;

suite('distributed mode', () => {
  describePlatform('over NATS, a process for each app', () => startDistributed());

  it.each(['gateway', 'admin', 'hub', 'files', 'files-worker', 'tables', 'chat'])(
    'stops %s at start with every variable that is missing or wrong',
    async (name) => {
      const app = run(`dist/apps/${name}/src/main.js`, { PORT: 'eighty' });

      await app.ended;

      expect(app.output()).toContain('PORT must be an integer from 0 to 65535');
      expect(app.output()).toContain('NATS_URL is missing');
      if (name !== 'gateway') expect(app.output()).toContain('DATABASE_URL is missing');
    },
  );

  it('needs a NATS server and a database, and says no more than which is missing', async () => {
    const platform = run('tools/distributed.mjs', { DATABASE_URL: 'postgres://127.0.0.1:1/none' });

    await platform.ended;

    expect(platform.output()).toBe('NATS_URL is missing: set it to a running server.\n');
  });

  it('does not start on a schema that is behind, and says what to do', async () => {
    const platform = await startDistributed();
    const database = await createEmptyDatabase();
    const app = run('dist/apps/tables/src/main.js', {
      PORT: '0',
      NATS_URL: platform.nats.url,
      DATABASE_URL: database.url,
    });

    await app.ended;

    expect(app.output()).toContain('npm run migrate');
    await platform.stop();
    await database.drop();
  });
});
