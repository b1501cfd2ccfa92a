import type { AuthenticatedClient } from '@botpress/chat';
import { systemCaller } from '@parley/contracts/caller';
import { signals } from '@parley/contracts/chat/signals';
import { type ChatService, startChat } from '../test/chat-service';
import { type ChatApi, newChatApi } from '../test/chat-api';

let api: ChatService;
let endpoint: ChatApi;
let ada: AuthenticatedClient;
let grace: AuthenticatedClient;
let stranger: AuthenticatedClient;

beforeAll(async () => {
  api = await startChat();
  endpoint = await newChatApi(api);
  [ada, grace, stranger] = await Promise.all([endpoint.newUser(), endpoint.newUser('grace'), endpoint.newUser()]);
});

afterAll(() => api?.stop());

const conversationId = /^conv_[0-9A-HJKMNP-TV-Z]{26}$/;
const refusal = (type: string) => ({ type });

async function newConversation(id?: string): Promise<string> {
  const { conversation } = await ada.createConversation({ id });
  await ada.addParticipant({ conversationId: conversation.id, userId: grace.user.id });
  return conversation.id;
}

async function platformId(foreignId: string): Promise<string> {
  const [row] = await api.sql<{ id: string }>(
    'SELECT id FROM chat.conversation WHERE bot_id = $1 AND foreign_id = $2',
    [endpoint.bot.id, foreignId],
  );
  return row!.id;
}

describe('a conversation', () => {
  it('creates a conversation with its owner as the only participant', async () => {
    const { conversation } = await ada.createConversation({});

    expect(conversation).toEqual({
      id: expect.stringMatching(conversationId) as string,
      createdAt: expect.any(String) as string,
      updatedAt: expect.any(String) as string,
    });
    expect((await ada.getConversation({ id: conversation.id })).conversation).toEqual(conversation);
    const { participants } = await ada.listParticipants({ conversationId: conversation.id });
    expect(participants).toEqual([(await ada.getUser({})).user]);
  });

  it('shows a conversation to the bot with owner and foreign id as tags', async () => {
    await ada.createConversation({ id: 'for-the-bot' });

    const { conversations } = await endpoint.bot.client.listConversations({ tags: { 'chat:fid': 'for-the-bot' } });

    expect(conversations).toMatchObject([
      { channel: 'channel', integration: 'chat', tags: { 'chat:owner': ada.user.id, 'chat:fid': 'for-the-bot' } },
    ]);
  });

  it('returns the foreign id of a conversation in every reply, and finds it by both of its ids', async () => {
    const id = await newConversation('tea/2026\\1');
    const own = await platformId(id);

    for (const name of [id, own]) {
      expect((await grace.getConversation({ id: name })).conversation.id).toBe(id);
      expect((await ada.getOrCreateConversation({ id: name })).conversation.id).toBe(id);
      expect((await grace.listParticipants({ conversationId: name })).participants).toHaveLength(2);
    }
    expect((await ada.listConversations({})).conversations.map((one) => one.id)).toContain(id);
  });

  it('requires a foreign id of a conversation that is unique in its bot', async () => {
    await ada.createConversation({ id: 'taken' });

    await expect(ada.createConversation({ id: 'taken' })).rejects.toMatchObject(refusal('AlreadyExists'));
    await expect(grace.createConversation({ id: 'taken' })).rejects.toMatchObject(refusal('AlreadyExists'));
    await expect(ada.createConversation({ id: await platformId('taken') })).rejects.toMatchObject(
      refusal('AlreadyExists'),
    );
    const other = await newChatApi(api);
    await expect((await other.newUser()).createConversation({ id: 'taken' })).resolves.toHaveProperty('conversation');
  });

  it('creates a conversation once for a hundred concurrent getOrCreate requests', async () => {
    const ask = () => endpoint.send('POST /conversations/get-or-create', { key: ada.user.key, json: { id: 'crowd' } });

    const replies = await Promise.all(Array.from({ length: 100 }, ask));

    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]).toMatchObject({ status: 201, json: { conversation: { id: 'crowd' } } });
    expect(await platformId('crowd')).toMatch(conversationId);
  });

  it('allows getOrCreate of a conversation only to its owner', async () => {
    const id = await newConversation('hers');

    await expect(grace.getOrCreateConversation({ id })).rejects.toMatchObject(refusal('Forbidden'));
    await expect(stranger.getOrCreateConversation({ id })).rejects.toMatchObject(refusal('Forbidden'));
  });

  it('shows a conversation only to its participants', async () => {
    const id = await newConversation();

    await expect(grace.getConversation({ id })).resolves.toHaveProperty('conversation');
    await expect(stranger.getConversation({ id })).rejects.toMatchObject(refusal('Forbidden'));
    await expect(stranger.listParticipants({ conversationId: id })).rejects.toMatchObject(refusal('Forbidden'));
    await expect(stranger.getParticipant({ conversationId: id, userId: ada.user.id })).rejects.toMatchObject(
      refusal('Forbidden'),
    );
  });

  it('lets only the owner delete a conversation, whose foreign id can then be used again', async () => {
    const id = await newConversation('short');
    const { heard } = await endpoint.listen(await platformId(id));

    await expect(grace.deleteConversation({ id })).rejects.toMatchObject(refusal('Forbidden'));
    await expect(stranger.deleteConversation({ id })).rejects.toMatchObject(refusal('Forbidden'));
    expect(await ada.deleteConversation({ id })).toEqual({});

    expect(heard.map(({ frame }) => frame)).toEqual([null, null]);
    expect(heard.map(({ closes }) => closes)).toContain(ada.user.id);
    await expect(ada.getConversation({ id })).rejects.toMatchObject(refusal('ResourceNotFound'));
    await expect(ada.deleteConversation({ id })).rejects.toMatchObject(refusal('ResourceNotFound'));
    expect((await ada.createConversation({ id })).conversation.id).toBe(id);
  });

  it('lists conversations for their owner, newest first, twenty per page', async () => {
    const owner = await endpoint.newUser();
    const ids: string[] = [];
    for (let count = 0; count < 22; count += 1) ids.unshift((await owner.createConversation({})).conversation.id);
    await ada.addParticipant({ conversationId: await newConversation(), userId: owner.user.id });

    const first = await owner.listConversations({});
    const second = await owner.listConversations({ nextToken: first.meta.nextToken });

    expect(first.conversations).toHaveLength(20);
    expect([...first.conversations, ...second.conversations].map(({ id }) => id)).toEqual(ids);
    expect(second.meta).toEqual({});
  });

  it('returns 404 for a conversation that is unknown, of another bot or another channel', async () => {
    const other = await newChatApi(api);
    const theirs = (await (await other.newUser('owner')).createConversation({ id: 'foreign' })).conversation.id;
    const [{ id: own }] = (await api.sql<{ id: string }>(
      'SELECT id FROM chat.conversation WHERE bot_id = $1 AND foreign_id = $2',
      [other.bot.id, theirs],
    )) as [{ id: string }];
    const { conversation: ofTeam } = await endpoint.bot.asTeam.createConversation({ channel: 'group', tags: {} });

    for (const id of [theirs, own, ofTeam.id, 'conv_01HZZZZZZZZZZZZZZZZZZZZZZZ', 'a+b', '%', 'x'.repeat(900)]) {
      await expect(ada.getConversation({ id })).rejects.toMatchObject(refusal('ResourceNotFound'));
      await expect(ada.deleteConversation({ id })).rejects.toMatchObject(refusal('ResourceNotFound'));
      await expect(ada.listParticipants({ conversationId: id })).rejects.toMatchObject(refusal('ResourceNotFound'));
      await expect(ada.addParticipant({ conversationId: id, userId: 'grace' })).rejects.toMatchObject(
        refusal('ResourceNotFound'),
      );
    }
  });

  it('rejects an invalid nextToken of conversations', async () => {
    for (const path of ['conversations', `conversations/${await newConversation()}/participants`]) {
      expect(await endpoint.send(`GET /${path}?nextToken=nonsense`, { key: ada.user.key })).toMatchObject({
        status: 400,
        json: { type: 'InvalidQuery' },
      });
    }
  });
});

describe('a participant', () => {
  it('lets the owner add a participant by either form of its id, with one signal', async () => {
    const { conversation } = await ada.createConversation({ id: 'party' });
    const { frames } = await endpoint.listen(await platformId('party'));

    const { participant } = await ada.addParticipant({ conversationId: conversation.id, userId: 'grace' });
    await ada.addParticipant({ conversationId: conversation.id, userId: 'grace' });

    expect(participant).toEqual((await grace.getUser({})).user);
    expect(frames()).toEqual([
      { type: 'participant_added', data: { conversationId: 'party', participantId: 'grace' } },
    ]);
  });

  it('lets only the owner add and remove participants', async () => {
    const conversationId = await newConversation();
    const userId = stranger.user.id;

    for (const other of [grace, stranger]) {
      await expect(other.addParticipant({ conversationId, userId })).rejects.toMatchObject(refusal('Forbidden'));
      await expect(other.removeParticipant({ conversationId, userId: ada.user.id })).rejects.toMatchObject(
        refusal('Forbidden'),
      );
    }
  });

  it('refuses a participant that is not a user of the same chat', async () => {
    const conversationId = await newConversation();
    const { user: ofBot } = await endpoint.bot.client.createUser({ tags: {} });

    for (const userId of ['nobody', 'a+b', '', ofBot.id, endpoint.bot.id]) {
      await expect(ada.addParticipant({ conversationId, userId })).rejects.toMatchObject(refusal('ResourceNotFound'));
    }
    expect(
      await endpoint.send(`POST /conversations/${conversationId}/participants`, { key: ada.user.key, json: {} }),
    ).toMatchObject({ status: 400, json: { message: expect.stringContaining('userId') as string } });
  });

  it('shows a participant to other participants', async () => {
    const conversationId = await newConversation();

    const { participant } = await grace.getParticipant({ conversationId, userId: ada.user.id });

    expect(participant.id).toBe(ada.user.id);
    expect((await ada.getParticipant({ conversationId, userId: 'grace' })).participant.id).toBe('grace');
    await expect(ada.getParticipant({ conversationId, userId: stranger.user.id })).rejects.toMatchObject(
      refusal('ResourceNotFound'),
    );
  });

  it('ends streams and access of a participant that is removed', async () => {
    const id = await newConversation('leave');
    const { heard, frames } = await endpoint.listen(await platformId(id));

    expect(await ada.removeParticipant({ conversationId: id, userId: 'grace' })).toEqual({});

    expect(frames()).toEqual([
      { type: 'participant_removed', data: { conversationId: 'leave', participantId: 'grace' } },
    ]);
    const [{ id: own }] = (await api.sql<{ id: string }>(
      `SELECT id FROM chat."user" WHERE bot_id = $1 AND foreign_id = 'grace'`,
      [endpoint.bot.id],
    )) as [{ id: string }];
    expect(heard[0]!.closes).toBe(own);
    await expect(grace.getConversation({ id })).rejects.toMatchObject(refusal('Forbidden'));
    await expect(ada.removeParticipant({ conversationId: id, userId: 'grace' })).rejects.toMatchObject(
      refusal('ResourceNotFound'),
    );
  });

  it('refuses to remove the owner from the participants', async () => {
    const conversationId = await newConversation();

    await expect(ada.removeParticipant({ conversationId, userId: ada.user.id })).rejects.toMatchObject(
      refusal('InvalidPayload'),
    );
  });

  it('lists participants in reverse join order, twenty per page', async () => {
    const { conversation } = await ada.createConversation({});
    const ids = [ada.user.id];
    for (let count = 0; count < 21; count += 1) {
      const { user } = await endpoint.client.createUser({});
      await ada.addParticipant({ conversationId: conversation.id, userId: user.id });
      ids.unshift(user.id);
    }

    const listed: string[] = [];
    for await (const { id } of ada.list.participants({ conversationId: conversation.id })) listed.push(id);
    const first = await ada.listParticipants({ conversationId: conversation.id });

    expect(first.participants).toHaveLength(20);
    expect(listed).toEqual(ids);
  });
});

describe('a change by the bot', () => {
  it('sends the same signals for a change by the bot as for a change by a user', async () => {
    const id = await newConversation();
    const { frames, heard } = await endpoint.listen(id);
    const { user } = await endpoint.bot.client.createUser({ tags: {} });

    await endpoint.bot.client.addParticipant({ id, userId: user.id });
    await endpoint.bot.client.removeParticipant({ id, userId: user.id });

    const data = { conversationId: id, participantId: user.id };
    expect(frames()).toEqual([
      { type: 'participant_added', data },
      { type: 'participant_removed', data },
    ]);
    expect(heard.map(({ closes }) => closes)).toEqual([undefined, user.id]);
  });
});

describe('a stream', () => {
  const open = (userKey: string | undefined, conversationId: string, webhookId = endpoint.webhookId) =>
    api.call(signals.open, { ...systemCaller('req_test'), userKey }, { webhookId, conversationId });

  it('opens a stream for participants, with platform ids', async () => {
    const id = await newConversation('stream');

    const listener = { botId: endpoint.bot.id, conversationId: await platformId(id), userId: ada.user.id };

    expect(await open(ada.user.key, id)).toEqual(listener);
    expect(await open(ada.user.key, listener.conversationId)).toEqual(listener);
  });

  it('refuses a stream to others with a status that stops the client from retrying', async () => {
    const id = await newConversation();

    await expect(open(undefined, id)).rejects.toMatchObject({ type: 'Unauthorized', code: 401 });
    await expect(open('nonsense', id)).rejects.toMatchObject({ type: 'Unauthorized', code: 401 });
    await expect(open(stranger.user.key, id)).rejects.toMatchObject({ type: 'Forbidden', code: 403 });
    await expect(open(ada.user.key, 'none')).rejects.toMatchObject({ type: 'ResourceNotFound', code: 404 });
    await expect(open(ada.user.key, id, 'webhook_none')).rejects.toMatchObject({ type: 'ResourceNotFound', code: 404 });
  });
});
