import type { Client } from '@botpress/client';
import { botTargetChanged } from '@parley/contracts/admin/targets';
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

const url = 'http://127.0.0.1:9';

async function newEvent(client: Client): Promise<string> {
  return (await client.createEvent({ type: 'happened', payload: {} })).event.id;
}

async function newMessageEvent(client: Client): Promise<string> {
  const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
  const { user } = await client.createUser({ tags: {} });
  const content = { type: 'text', payload: { text: 'hi' }, tags: {} };
  const { message } = await client.createMessage({ ...content, conversationId: conversation.id, userId: user.id });
  return (await client.listEvents({ messageId: message.id })).events[0]!.id;
}

/** Publishes a change of the bot's target, and waits until chat has consumed it. */
async function change(botId: string, isCalled: boolean, revision: number): Promise<void> {
  const { events } = api.apps.at(-1)!.get<Platform>(platformToken, { strict: false });
  const data = { botId, isDeployed: false, isCalled, revision };
  await events.publish([{ id: newId('outbox'), subject: botTargetChanged.subject, data }]);
  const underWay = () => api.sql(`SELECT key FROM events.work WHERE queue = 'chat.noteCalledBot'`);
  await waitFor(underWay, (rows) => rows.length === 0);
}

const idsOf = (botId: string) => runtime.announcedOf(botId).map(({ id }) => id);

it('does not announce events of a bot that is not called, and keeps them pending', async () => {
  const { id, client } = await api.newBot();
  const called = await newCalledBot(api, runtime);

  const events = [await newEvent(client), await newMessageEvent(client)];

  await runtime.untilAnnounced(called.id, await newEvent(called.client));
  expect(idsOf(id)).toEqual([]);
  for (const event of events) expect((await client.getEvent({ id: event })).event.status).toBe('pending');
  expect(await api.sql(`SELECT 1 FROM chat.outbox WHERE data ->> 'botId' = $1`, [id])).toEqual([]);
});

it('announces events that are pending for less than a day when the bot gets a url, and ignores older ones', async () => {
  const { id, client } = await api.newBot();
  const old = 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV';
  const released = 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAW';
  await api.sql(
    `INSERT INTO chat.event (bot_id, id, type, payload, status, created_at, due_at)
     SELECT $1, id, 'x', '{}', 'pending', now() - interval '25 hours', due_at
     FROM (VALUES ($2, NULL), ($3, now() - interval '1 hour')) AS entry (id, due_at)`,
    [id, old, released],
  );
  const events = [await newEvent(client), await newMessageEvent(client)];

  await api.alice.client.updateBot({ id, url });

  await runtime.untilAnnounced(id, events[1]!);
  expect(idsOf(id)).toEqual([released, ...events]);
  expect((await client.getEvent({ id: old })).event).toMatchObject({
    status: 'ignored',
    failureReason: 'The bot had no url for 24 hours.',
  });
});

it('announces no more events after the bot lost its url, and all of them when it has one again', async () => {
  const { id, client } = await newCalledBot(api, runtime);
  await api.alice.client.updateBot({ id, url: null });
  await waitFor(
    () => api.sql<{ is_called: boolean }>('SELECT is_called FROM chat.called_bot WHERE bot_id = $1', [id]),
    ([row]) => !row!.is_called,
  );
  const events = [await newEvent(client), await newMessageEvent(client)];
  const other = await newCalledBot(api, runtime);
  await runtime.untilAnnounced(other.id, await newEvent(other.client));
  expect(idsOf(id)).toEqual([]);

  await api.alice.client.updateBot({ id, url });

  await runtime.untilAnnounced(id, events[1]!);
});

it('ignores a change that is not newer than the last one, and one of a deleted bot', async () => {
  const { id, client } = await newCalledBot(api, runtime);
  const deleted = await api.newBot();
  await api.sql('INSERT INTO chat.dropped_bot (bot_id) VALUES ($1)', [deleted.id]);
  const later = Date.now() + 3_600_000;
  await change(id, true, later);

  for (const revision of [later, later - 1, 1]) await change(id, false, revision);
  await change(deleted.id, true, later);

  await runtime.untilAnnounced(id, await newEvent(client));
  await newEvent(deleted.client);
  expect(await api.sql(`SELECT 1 FROM chat.outbox WHERE data ->> 'botId' = $1`, [deleted.id])).toEqual([]);
});

it('announces more events than one statement reads', async () => {
  const { id } = await api.newBot();
  await api.sql(
    `INSERT INTO chat.event (bot_id, id, type, payload, status, created_at)
     SELECT $1, $2 || lpad(n::text, 16, '0'), 'x', '{}', 'pending', now() FROM generate_series(1, 2001) n`,
    [id, newId('evt').slice(0, 14)],
  );

  await change(id, true, Date.now() + 3_600_000);

  const announced = await waitFor(
    () => idsOf(id),
    (ids) => ids.length === 2_001,
  );
  expect(announced).toEqual([...announced].sort());
});
