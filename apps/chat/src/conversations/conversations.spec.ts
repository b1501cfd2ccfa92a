import type { Client } from '@botpress/client';
import { type ChatService, failure, startChat } from '../test/chat-service';

let api: ChatService;
let botId: string;
let client: Client;
let asTeam: Client;

beforeAll(async () => {
  api = await startChat();
  ({ id: botId, client, asTeam } = await api.newBot());
});

afterAll(() => api?.stop());

async function newUser(of = client): Promise<string> {
  return (await of.createUser({ tags: {} })).user.id;
}

async function newConversation(of = client): Promise<string> {
  return (await of.createConversation({ channel: 'channel', tags: {} })).conversation.id;
}

describe('a conversation', () => {
  it('returns the fields with which a conversation was created', async () => {
    const { conversation } = await client.createConversation({
      channel: 'channel',
      tags: { topic: 'sales' },
      properties: { a: 'b' },
    });

    expect((await client.getConversation({ id: conversation.id })).conversation).toEqual(conversation);
    expect(conversation).toEqual({
      id: expect.stringMatching(/^conv_/),
      createdAt: expect.any(String),
      updatedAt: conversation.createdAt,
      channel: 'channel',
      integration: 'chat',
      tags: { topic: 'sales' },
      messageCount: 0,
      properties: { a: 'b' },
    });
  });

  it('assigns a conversation to the only installation that has its channel', async () => {
    const { conversation } = await client.createConversation({ channel: 'group', tags: {} });

    expect(conversation.integration).toBe('team');
  });

  it('assigns a conversation to the installation named by alias or by integration', async () => {
    const names = await Promise.all(
      ['team', 'slack'].map(
        async (integrationName) =>
          (await client.createConversation({ channel: 'group', tags: {}, integrationName })).conversation.integration,
      ),
    );

    expect(names).toEqual(['team', 'team']);
  });

  it.each([
    [
      'a channel that nobody has',
      { channel: 'fax', tags: {} },
      'InvalidPayload',
      /^channel "fax" not found .*Available: channel \(of chat\), (direct \(of team\), group|group \(of team\), direct)/,
    ],
    [
      'a channel of another integration',
      { channel: 'channel', tags: {}, integrationName: 'team' },
      'InvalidPayload',
      /^channel "channel" not found in integration "team"/,
    ],
    [
      'an integration that is not installed',
      { channel: 'channel', tags: {}, integrationName: 'telegram' },
      'ReferenceNotFound',
      /^integrationName "telegram" not found: no such integration/,
    ],
  ])('rejects a conversation with %s', async (_case, input, type, message) => {
    expect(await failure(client.createConversation(input as never))).toEqual({
      type,
      message: expect.stringMatching(message),
    });
  });

  it('uses the channels of the calling integration for a conversation', async () => {
    const { conversation } = await asTeam.createConversation({ channel: 'direct', tags: { id: 'C1' } });

    expect(conversation).toMatchObject({ integration: 'team', tags: { id: 'C1' } });
    expect((await client.getConversation({ id: conversation.id })).conversation.tags).toEqual({ 'team:id': 'C1' });
    expect((await failure(asTeam.createConversation({ channel: 'channel', tags: {} }))).type).toBe('InvalidPayload');
    expect(
      (await failure(asTeam.createConversation({ channel: 'channel', tags: {}, integrationName: 'chat' }))).type,
    ).toBe('ReferenceNotFound');
  });

  it('accepts a channel that was installed a moment ago', async () => {
    const own = await api.newBot();
    await own.client.createConversation({ channel: 'group', tags: {} });
    await api.send(`PUT /v1/admin/bots/${own.id}`, {
      headers: { ...api.headersOf(), 'x-multiple-integrations': 'true' },
      json: { integrations: { more: { integrationId: api.integrationId } } },
    });

    const { conversation } = await own.client.createConversation({
      channel: 'group',
      tags: {},
      integrationName: 'more',
    });

    expect(conversation.integration).toBe('more');
    expect(await failure(own.client.createConversation({ channel: 'group', tags: {} }))).toEqual({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^channel "group" is ambiguous: several integrations have it/),
    });
  });

  it('merges tags and properties on update of a conversation', async () => {
    const { conversation } = await client.createConversation({ channel: 'channel', tags: { a: '1', b: '2' } });

    const { conversation: updated } = await client.updateConversation({
      id: conversation.id,
      tags: { a: null, c: '3' },
      properties: { x: 'y' },
      currentTaskId: 'task_1',
    });

    expect(updated).toMatchObject({ tags: { b: '2', c: '3' }, properties: { x: 'y' }, currentTaskId: 'task_1' });
    expect((await client.listConversations({ tags: { c: '3' } })).conversations).toEqual([updated]);
  });

  it('returns 404 for a deleted conversation, and deletes its states', async () => {
    const id = await newConversation();
    await client.addParticipant({ id, userId: await newUser() });

    await client.deleteConversation({ id });

    const failures = await Promise.all([
      failure(client.getConversation({ id })),
      failure(client.updateConversation({ id })),
      failure(client.deleteConversation({ id })),
      failure(client.listParticipants({ id })),
    ]);
    expect(failures.map(({ type }) => type)).toEqual(Array(4).fill('ResourceNotFound'));
  });

  it('returns 404 for a conversation of another bot and of another integration', async () => {
    const other = await api.newBot();
    const id = await newConversation();

    expect((await failure(other.client.getConversation({ id }))).type).toBe('ResourceNotFound');
    expect((await failure(other.client.deleteConversation({ id }))).type).toBe('ResourceNotFound');
    expect((await failure(asTeam.getConversation({ id }))).type).toBe('ResourceNotFound');
    expect((await failure(asTeam.updateConversation({ id }))).type).toBe('ResourceNotFound');
    expect((await asTeam.listConversations({ integrationName: 'chat' })).conversations).toEqual([]);
  });
});

describe('getOrCreateConversation', () => {
  it('creates one conversation for concurrent getOrCreateConversation requests', async () => {
    const replies = await Promise.all(
      Array.from({ length: 200 }, () => client.getOrCreateConversation({ channel: 'group', tags: { id: 'one' } })),
    );

    expect(new Set(replies.map(({ conversation }) => conversation.id)).size).toBe(1);
    expect(replies.filter(({ meta }) => meta.created)).toHaveLength(1);
  });

  it('creates separate conversations for separate channels by getOrCreateConversation', async () => {
    const group = await asTeam.getOrCreateConversation({ channel: 'group', tags: { id: 'same' } });
    const direct = await asTeam.getOrCreateConversation({ channel: 'direct', tags: { id: 'same' } });

    expect([group, direct].map(({ meta }) => meta.created)).toEqual([true, true]);
  });
});

describe('listConversations', () => {
  it('filters conversations by participants, integration, channel and tags, alone and combined', async () => {
    const { client: own } = await api.newBot();
    const [ann, bob] = [await newUser(own), await newUser(own)];
    const both = (await own.createConversation({ channel: 'group', tags: { kind: 'a' } })).conversation.id;
    const annOnly = (await own.createConversation({ channel: 'channel', tags: { kind: 'a' } })).conversation.id;
    const nobody = (await own.createConversation({ channel: 'direct', tags: { kind: 'b' } })).conversation.id;
    for (const [id, userId] of [
      [both, ann],
      [both, bob],
      [annOnly, ann],
    ]) {
      await own.addParticipant({ id: id!, userId: userId! });
    }

    const ids = async (query: object) => (await own.listConversations(query)).conversations.map(({ id }) => id);

    expect(await ids({})).toEqual([nobody, annOnly, both]);
    expect(await ids({ participantIds: [ann] })).toEqual([annOnly, both]);
    expect(await ids({ participantIds: [ann, bob] })).toEqual([both]);
    expect(await ids({ integrationName: 'slack' })).toEqual([nobody, both]);
    expect(await ids({ integrationName: 'none' })).toEqual([]);
    expect(await ids({ channel: 'channel' })).toEqual([annOnly]);
    expect(await ids({ tags: { kind: 'a' } })).toEqual([annOnly, both]);
    expect(await ids({ tags: { kind: 'a' }, participantIds: [bob], channel: 'group' })).toEqual([both]);
    expect(await ids({ minMessageCount: 1 })).toEqual([]);
    expect(await ids({ maxMessageCount: 0, sortDirection: 'asc' })).toEqual([both, annOnly, nobody]);
    await own.updateConversation({ id: both });
    expect(await ids({ sortField: 'updatedAt' })).toEqual([both, nobody, annOnly]);
  });
});

describe('the participants of a conversation', () => {
  it('lists participants page by page in the order in which they joined', async () => {
    const id = await newConversation();
    const joined: string[] = [];
    for (let n = 0; n < 7; n++) {
      joined.push(await newUser());
      await client.addParticipant({ id, userId: joined[n]! });
    }

    const seen: string[] = [];
    for (let nextToken: string | undefined, more = true; more; more = nextToken !== undefined) {
      const page = await client.listParticipants({ id, nextToken, pageSize: 3 });
      seen.push(...page.participants.map((user) => user.id));
      nextToken = page.meta.nextToken;
    }

    expect(seen).toEqual(joined);
  });

  it('adds a participant once for repeated requests, and removes it', async () => {
    const id = await newConversation();
    const userId = await newUser();
    await Promise.all([1, 2, 3].map(() => client.addParticipant({ id, userId })));
    expect((await client.listParticipants({ id })).participants.map((user) => user.id)).toEqual([userId]);
    expect((await client.getParticipant({ id, userId })).participant.id).toBe(userId);

    await client.removeParticipant({ id, userId });

    expect((await failure(client.getParticipant({ id, userId }))).type).toBe('ResourceNotFound');
    expect((await failure(client.removeParticipant({ id, userId }))).type).toBe('ResourceNotFound');
    expect((await client.listUsers({ conversationId: id })).users).toEqual([]);
  });

  it('rejects a participant that is a user of another bot', async () => {
    const other = await api.newBot();
    const id = await newConversation();
    const userId = await newUser(other.client);

    expect(await failure(client.addParticipant({ id, userId }))).toEqual({
      type: 'ReferenceNotFound',
      message: `userId "${userId}" is not a user of this bot.`,
    });
    expect(await failure(client.addParticipant({ id, userId: 'short' }))).toEqual({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^userId must be/),
    });
    expect((await failure(other.client.addParticipant({ id, userId }))).type).toBe('ResourceNotFound');
  });

  it('rejects a participant unless it is a user of the adding integration, or a participant already', async () => {
    const id = (await asTeam.createConversation({ channel: 'group', tags: {} })).conversation.id;
    const [own, other] = [await newUser(asTeam), await newUser()];

    await asTeam.addParticipant({ id, userId: own });
    const refused = await failure(asTeam.addParticipant({ id, userId: other }));
    await client.addParticipant({ id, userId: other });
    const { participant } = await asTeam.addParticipant({ id, userId: other });

    expect(refused).toEqual({
      type: 'ReferenceNotFound',
      message: `userId "${other}" is not a user of this bot.`,
    });
    expect(participant.id).toBe(other);
    expect((await client.listParticipants({ id })).participants.map((user) => user.id)).toEqual([own, other]);
  });

  it('returns participants from listUsers with conversationId', async () => {
    const id = await newConversation();
    const [ann, bob] = [await newUser(), await newUser()];
    await client.addParticipant({ id, userId: ann });

    const { users } = await client.listUsers({ conversationId: id });

    expect(users.map((user) => user.id)).toEqual([ann]);
    expect(users.map((user) => user.id)).not.toContain(bob);
  });
});

it('rejects a request without the header x-bot-id', async () => {
  const { 'x-bot-id': _bot, ...headers } = api.headersOf(botId);

  const reply = await api.send('POST /v1/chat/conversations', { headers, json: { channel: 'channel', tags: {} } });

  expect(reply).toMatchObject({ status: 400, json: { message: expect.stringContaining('x-bot-id') } });
});
