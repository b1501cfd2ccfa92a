import type { Client } from '@botpress/client';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';

let api: ChatService;
let bot: ChatBot;

beforeAll(async () => {
  api = await startChat({ listTimeoutMs: 100 });
  bot = await api.newBot();
});

afterAll(() => api?.stop());

type List = (client: Client) => Promise<unknown>;

async function holdTables() {
  await api.sql('BEGIN');
  await api.sql('LOCK TABLE chat.event, chat.conversation, chat."user", chat.workflow IN ACCESS EXCLUSIVE MODE');
}

async function failureOf(list: List, client = bot.client) {
  await holdTables();
  const ended = await failure(list(client));
  await api.sql('COMMIT');
  return ended;
}

const span = { afterDate: '2026-01-01T00:00:00.000Z' };

describe('a list whose filters no index serves', () => {
  it.each<[string, List]>([
    ['events of a type with a status', (client) => client.listEvents({ type: 'a', status: 'pending' })],
    ['events of a conversation and a user', (client) => client.listEvents({ conversationId: 'a', userId: 'b' })],
    [
      'conversations of a channel by their updates',
      (client) => client.listConversations({ channel: 'a', sortField: 'updatedAt' }),
    ],
    [
      'conversations of a span by their updates',
      (client) => client.listConversations({ ...span, sortField: 'updatedAt' }),
    ],
    [
      'conversations of an integration and a channel',
      (client) => client.listConversations({ integrationName: 'team', channel: 'a' }),
    ],
    [
      'users of a span of updates by their creation',
      (client) => client.listUsers({ ...span, rangeField: 'updatedAt' }),
    ],
    ['users of a span of creation by their updates', (client) => client.listUsers({ ...span, sortField: 'updatedAt' })],
    ['workflows of a name with a status', (client) => client.listWorkflows({ name: 'a', statuses: ['pending'] })],
    ['workflows of a user and a conversation', (client) => client.listWorkflows({ userId: 'a', conversationId: 'b' })],
  ])('fails a list with OperationTimeout when it takes too long: %s', async (_case, list) => {
    expect(await failureOf(list)).toEqual({
      type: 'OperationTimeout',
      message: expect.stringMatching(/^The query exceeded its time limit of 0\.1 s\. (Filter|Use)/),
    });
  });

  it('fails a list for an integration that gives one filter, since its alias is a filter too', async () => {
    expect((await failureOf((client) => client.listEvents({ type: 'a' }), bot.asTeam)).type).toBe('OperationTimeout');
    expect((await failureOf((client) => client.listWorkflows({ name: 'a' }), bot.asTeam)).type).toBe(
      'OperationTimeout',
    );
  });
});

describe('a list that an index serves', () => {
  it.each<[string, List]>([
    ['events of a type', (client) => client.listEvents({ type: 'a' })],
    ['conversations of a channel and a span', (client) => client.listConversations({ channel: 'a', ...span })],
    ['conversations by their updates', (client) => client.listConversations({ sortField: 'updatedAt' })],
    [
      'users of a span of updates in their order',
      (client) => client.listUsers({ ...span, rangeField: 'updatedAt', sortField: 'updatedAt' }),
    ],
    ['workflows of a name', (client) => client.listWorkflows({ name: 'a' })],
    ['workflows of some statuses', (client) => client.listWorkflows({ statuses: ['pending', 'failed'] })],
  ])('does not limit a list that an index serves: %s', async (_case, list) => {
    await holdTables();
    const listed = list(bot.client);
    await waitFor(async () => {
      const [oldest] = await api.sql<{ is_late: boolean }>(
        `SELECT pg_stat_clear_snapshot(), clock_timestamp() - min(query_start) > interval '300 ms' AS is_late
         FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%LIMIT 21%'`,
      );
      return oldest!.is_late;
    });
    await api.sql('COMMIT');

    expect(await listed).toMatchObject({ meta: {} });
  });
});
