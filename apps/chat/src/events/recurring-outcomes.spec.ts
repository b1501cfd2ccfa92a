import { recurringEventSettled } from '@parley/contracts/chat/recurring-outcomes';
import type { SettledStatus } from '@parley/contracts/runtime/deliveries';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatService, startChat } from '../test/chat-service';
import { type FakeRuntime, newCalledBot, startFakeRuntime } from '../test/fake-runtime';

let api: ChatService;
let runtime: FakeRuntime;

beforeAll(async () => {
  api = await startChat();
  runtime = await startFakeRuntime(api);
});

afterAll(() => api?.stop());

const tick = { type: 'ticked', payload: { n: 1 }, schedule: { cron: '0 0 1 1 *' } };

const newBot = () => newCalledBot(api, runtime, { recurringEvents: { tick, tock: { ...tick, type: 'tocked' } } });

/** Makes the event recur once and settles it. */
async function recur(botId: string, status: SettledStatus, reason: string | null = null, name = 'tick') {
  const before = runtime.announcedOf(botId).length;
  const makeDue = () =>
    api.sql('UPDATE chat.recurring_event SET next_at = now() WHERE bot_id = $1 AND name = $2 RETURNING 1', [
      botId,
      name,
    ]);
  await waitFor(makeDue, (rows) => rows.length === 1);
  const announced = await waitFor(
    () => runtime.announcedOf(botId),
    (all) => all.length === before + 1,
  );
  const { id } = announced.at(-1)!;
  await runtime.settle(botId, id, { status, failureReason: reason });
  return id;
}

async function shown(botId: string) {
  const { tick: state } = (await api.alice.client.getBot({ id: botId })).bot.recurringEvents;
  return { failedAttempts: state!.failedAttempts, lastFailureReason: state!.lastFailureReason };
}

const untilShown = (botId: string, failedAttempts: number) =>
  waitFor(
    () => shown(botId),
    (state) => state.failedAttempts === failedAttempts,
  );

it('counts failures of a recurring event in its bot, and none after a success', async () => {
  const { id } = await newBot();
  expect(await shown(id)).toEqual({ failedAttempts: 0, lastFailureReason: null });

  await recur(id, 'failed', 'It broke.');
  expect(await untilShown(id, 1)).toEqual({ failedAttempts: 1, lastFailureReason: 'It broke.' });
  await recur(id, 'failed', 'Again.');
  expect(await untilShown(id, 2)).toEqual({ failedAttempts: 2, lastFailureReason: 'Again.' });
  await recur(id, 'processed');
  expect(await untilShown(id, 0)).toEqual({ failedAttempts: 0, lastFailureReason: null });
});

it('does not count ignored events, other recurring events, and repeats of an outcome', async () => {
  const { id } = await newBot();
  await recur(id, 'failed', 'Other.', 'tock');
  await recur(id, 'ignored', 'Not subscribed.');
  const failed = await recur(id, 'failed', 'It broke.');
  await runtime.settle(id, failed, { status: 'failed', failureReason: 'Repeated.' }, 2);

  expect(await untilShown(id, 1)).toEqual({ failedAttempts: 1, lastFailureReason: 'It broke.' });
});

it('keeps the failures that were counted before an ignored event', async () => {
  const { id } = await newBot();
  await recur(id, 'failed', 'First.');
  await recur(id, 'ignored', 'Not subscribed.');
  await recur(id, 'failed', 'Second.');

  expect(await untilShown(id, 2)).toEqual({ failedAttempts: 2, lastFailureReason: 'Second.' });
});

it('announces a success only after a failure', async () => {
  const { id } = await newBot();
  await recur(id, 'processed');
  await recur(id, 'failed');
  await recur(id, 'processed');
  await recur(id, 'processed');

  const rows = await api.sql<{ attempts: number }>(
    `SELECT (data ->> 'failedAttempts')::int AS attempts FROM chat.outbox
     WHERE subject = $1 AND data ->> 'botId' = $2 ORDER BY id`,
    [recurringEventSettled.subject, id],
  );
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 0]);
});

it('counts anew when the event is defined anew', async () => {
  const { id } = await newBot();
  await recur(id, 'failed');
  await recur(id, 'failed');
  await untilShown(id, 2);

  await api.alice.client.updateBot({ id, recurringEvents: { tick: { ...tick, payload: { n: 2 } } } });

  expect(await shown(id)).toEqual({ failedAttempts: 0, lastFailureReason: null });
  await waitFor(
    () =>
      api.sql<{ n: number }>(
        `SELECT payload -> 'n' AS n FROM chat.recurring_event WHERE bot_id = $1 AND name = 'tick'`,
        [id],
      ),
    ([row]) => row?.n === 2,
  );
  await recur(id, 'failed', 'First.');
  expect(await untilShown(id, 1)).toEqual({ failedAttempts: 1, lastFailureReason: 'First.' });
});

it('keeps the newest state when announcements arrive late, twice, or for an unknown event or bot', async () => {
  const { id } = await newBot();
  const { events } = api.apps.at(-1)!.get<Platform>(platformToken, { strict: false });
  const announce = (botId: string, name: string, failedAttempts: number, revision: number) =>
    events.publish([
      {
        id: newId('outbox'),
        subject: recurringEventSettled.subject,
        data: { botId, name, failedAttempts, lastFailureReason: `${failedAttempts}`, revision },
      },
    ]);

  for (const [attempts, revision] of [
    [5, 50],
    [4, 40],
    [5, 50],
    [3, 30],
  ] as const)
    await announce(id, 'tick', attempts, revision);
  await announce(id, 'unknown', 1, 1);
  await announce(newId('none'), 'tick', 1, 1);
  await waitFor(
    () => api.sql(`SELECT key FROM events.work WHERE queue = 'admin.recordRecurringFailure'`),
    (rows) => rows.length === 0,
  );

  expect(await shown(id)).toEqual({ failedAttempts: 5, lastFailureReason: '5' });
  expect(await api.sql('SELECT * FROM admin.dead_letter')).toEqual([]);
});
