import { garbagePerSubject, sendGarbage } from '@parley/transport/test/garbage';
import { allOperations } from '@parley/contracts/contracts';
import { clientOf, parley } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { waitFor } from '@parley/testing/wait-for';
import type { Client as Postgres } from 'pg';
import { EverydayClient } from './everyday-client';
import type { Fleet } from './fleet';
import { FleetHealth, type SharedFleet } from './shared-fleet';

const natsPayloadBytes = 8_000_000;

export function describeBusMessages(sharedFleet: () => SharedFleet): void {
  describe('on the bus', () => {
    let fleet: Fleet;
    let database: Postgres;

    let health: FleetHealth;

    beforeAll(() => {
      ({ fleet, database } = sharedFleet());
      health = new FleetHealth(fleet);
    });

    afterEach(() => {
      expect(health.problems()).toEqual([]);
    });

    it('answers garbage on every subject of the bus with an error, and continues', async () => {
      const subjects = allOperations.map(({ subject }) => subject);
      const others = ['events.files.uploaded', 'events.admin.botDeleted', 'broadcast.admin.credentialsChanged'];

      const answered = await sendGarbage(fleet.nats.url, subjects, others);

      expect(answered).toBe(subjects.length * garbagePerSubject);
      const { client } = await EverydayClient.create(fleet);
      const { file } = await client.uploadFile({ key: 'after.txt', content: 'It goes on.', index: true });
      const status = async () => (await client.getFile({ id: file.id })).file.status;
      await waitFor(status, (found) => found === 'indexing_completed', 30_000);
      const buried = JSON.parse(parley(fleet, 'dead-letters', 'list', 'files').stdout) as { reason: string }[];
      expect(buried.length).toBeGreaterThan(0);
    });

    describe('an answer', () => {
      it('delivers an answer larger than a message whole', async () => {
        const everyday = await EverydayClient.create(fleet);
        const metadata = { text: 'm'.repeat(130_000) };
        const keys = Array.from({ length: 80 }, (_, n) => `file${n}`);
        await Promise.all(keys.map((key) => everyday.client.upsertFile({ key, size: 1, metadata })));

        const whole = await everyday.send('GET', '/v1/files?limit=80');

        const { files } = whole.body as { files: { metadata: object }[] };
        expect(JSON.stringify(files).length).toBeGreaterThan(natsPayloadBytes);
        expect(files.map((file) => file.metadata)).toEqual(Array(80).fill(metadata));
      });

      it('delivers an answer as large as a bot may declare whole', async () => {
        const schema = { type: 'object', description: 'd'.repeat(95_000) };
        const names = Array.from({ length: 50 }, (_, n) => `action${n}`);
        const actions = Object.fromEntries(names.map((name) => [name, { input: { schema }, output: { schema } }]));
        const client = clientOf(fleet);

        const { bot } = await client.createBot({ actions });

        expect(JSON.stringify(bot).length).toBeGreaterThan(natsPayloadBytes);
        expect((await client.getBot({ id: bot.id })).bot.actions).toEqual(bot.actions);
      });
    });

    it('fails an operation that never answers with OperationTimeout at its deadline, without delaying others', async () => {
      const everyday = await EverydayClient.create(fleet);
      const stuck = await everyday.declareMany(3, 1);
      await database.query(`
        CREATE FUNCTION files.hang() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(600); RETURN OLD; END';
        CREATE TRIGGER hang BEFORE DELETE ON files.file FOR EACH ROW EXECUTE FUNCTION files.hang()`);

      const asked = stuck.map(({ id }) => everyday.send('DELETE', `/v1/files/${id}`));
      await everyday.works();
      const answers = await Promise.all(asked);
      await database.query(`
        SELECT pg_cancel_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event = 'PgSleep'`);
      await database.query('DROP TRIGGER hang ON files.file');

      for (const answer of answers) expectTimeout(answer);
      for (const { id } of stuck) expect((await everyday.send('DELETE', `/v1/files/${id}`)).status).toBe(200);
    });

    it('fails callers of a paused service at their deadline, and does everything once when it continues', async () => {
      const everyday = await EverydayClient.create(fleet);
      const { uploadUrl } = await everyday.declare('upload', 5);
      const files = fleet.the('files');
      const handled = await countHandled(files.url, 'files.upsert');

      files.signal('SIGSTOP');
      const uploaded = put(uploadUrl, 'bytes');
      const late = [0, 1, 2, 3, 4].map((n) => ({ key: `late${n}`, size: 1 }));
      const asked = late.map((file) => everyday.send('PUT', '/v1/files', file));
      await listBots(everyday);
      const answers = await Promise.all(asked);
      files.signal('SIGCONT');
      await waitFor(
        () => countHandled(files.url, 'files.upsert'),
        (count) => count >= handled + late.length,
      );
      const stored = await everyday.send('GET', '/v1/files');

      for (const answer of answers) expectTimeout(answer);
      expect((await uploaded).status).toBe(200);
      expect((stored.body as { files: unknown[] }).files).toHaveLength(late.length + 1);
      expect(await countHandled(files.url, 'files.upsert')).toBe(handled + late.length);
    });
  });
}

function expectTimeout(answer: unknown): void {
  expect(answer).toMatchObject({ status: 504, body: { type: 'OperationTimeout' } });
}

async function listBots(everyday: EverydayClient): Promise<void> {
  expect((await everyday.send('GET', '/v1/admin/bots')).status).toBe(200);
}

async function countHandled(url: string, subject: string): Promise<number> {
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const counts = metrics.matchAll(/^parley_bus_handled_seconds_count\{.*subject="([^"]*)".*\} (\d+)$/gm);
  return [...counts].filter(([, found]) => found === subject).reduce((sum, [, , count]) => sum + Number(count), 0);
}
