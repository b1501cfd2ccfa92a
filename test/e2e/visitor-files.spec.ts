import { Client as ChatClient, type AuthenticatedClient } from '@botpress/chat';
import type { Client } from '@botpress/client';
import { systemCaller } from '@parley/contracts/caller';
import { maxVisitorFileBytes, maxVisitorFilesPerHour, visitorFiles } from '@parley/contracts/visitor-files';
import { type Account, type PublicApi, sendTo, type TestResponse } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { startAllServices } from '../support/all-services';

/** Requests of one user at the same time. */
const requests = 3 * maxVisitorFilesPerHour;

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  api = await startAllServices();
  alice = await api.newAccount();
});

afterAll(() => api?.stop());

interface Conversation {
  webhookId: string;
  bot: Client;
  botId: string;
  user: AuthenticatedClient;
  conversationId: string;
  /** Declares a file, by default of this user in this conversation. */
  declare(file?: object, headers?: Record<string, string>): Promise<TestResponse>;
  /** Declares and uploads a text. */
  upload(name?: string): Promise<DeclaredFile>;
}

interface DeclaredFile {
  id: string;
  url: string;
  uploadUrl: string;
  contentType: string;
}

async function talk(settings: object = { allowsUploads: true }): Promise<Conversation> {
  const { bot } = await alice.client.createBot({});
  const headers = { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId };
  await api.send(`PUT /v1/admin/bots/${bot.id}/webchat/settings`, { headers, json: settings });
  const { webhookId } = Object.values(bot.integrations)[0]!;
  const client = api.client(alice.token, alice.workspaceId, bot.id);
  return enter({ webhookId, bot: client, botId: bot.id });
}

function put({ uploadUrl, contentType }: DeclaredFile, body: string): Promise<Response> {
  return fetch(uploadUrl, { method: 'PUT', body, headers: { 'content-type': contentType } });
}

/** Another user with a conversation of the same bot. */
async function enter(of: Pick<Conversation, 'webhookId' | 'bot' | 'botId'>): Promise<Conversation> {
  const { webhookId } = of;
  const user = await ChatClient.connect({ apiUrl: `${api.url}/chat/${webhookId}` });
  const { conversation } = await user.createConversation({});
  const declare = (file = {}, headers: Record<string, string> = { 'x-user-key': user.user.key }) => {
    const json = { conversationId: conversation.id, name: 'note.txt', size: 5, ...file };
    return api.send(`POST /chat/${webhookId}/files`, { headers, json });
  };
  const upload = async (name = 'note.txt') => {
    const { file } = (await declare({ name })).json as unknown as { file: DeclaredFile };
    await put(file, 'hello');
    return file;
  };
  return { ...of, user, conversationId: conversation.id, declare, upload };
}

it('uploads and reads a file of a visitor, and sends its address to the bot', async () => {
  const { declare, user, bot, conversationId } = await talk();

  const { status, json } = await declare({ name: 'Größe 1.txt' });
  const { file } = json as unknown as { file: DeclaredFile };
  const uploaded = await put(file, 'hello');

  expect([status, uploaded.status]).toEqual([201, 200]);
  const read = await fetch(file.url);
  expect([await read.text(), read.headers.get('content-type')]).toEqual(['hello', 'text/plain']);
  expect(read.headers.get('content-disposition')).toContain("filename*=UTF-8''Gr%C3%B6%C3%9Fe%201.txt");
  expect((await bot.getFile({ id: file.id })).file).toMatchObject({
    status: 'upload_completed',
    index: false,
    url: file.url,
    tags: { source: 'chat', conversationId },
    owner: { type: 'user' },
  });
  await user.createMessage({ conversationId, payload: { type: 'file', fileUrl: file.url, title: 'Größe 1.txt' } });
});

it('accepts no files of visitors unless the web chat allows them', async () => {
  const { declare } = await talk({});

  expect(await declare()).toMatchObject({
    status: 403,
    json: { type: 'Forbidden', message: expect.stringContaining('This bot accepts no files.') },
  });
});

it('serves a page of a visitor that runs scripts only as a download', async () => {
  const { declare } = await talk();

  for (const name of ['page.html', 'picture.svg']) {
    const { file } = (await declare({ name })).json as unknown as { file: DeclaredFile };
    await put(file, '<b/>\n');
    const { headers } = await fetch(file.url);
    expect(headers.get('content-disposition')).toMatch(/^attachment/);
    expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  }
});

describe('a declaration is refused', () => {
  let own: Conversation;
  let other: Conversation;

  beforeAll(async () => {
    own = await talk();
    other = await talk();
  });

  it('refuses a declaration without a user key, and with the key of a user of another bot', async () => {
    expect(await own.declare({}, {})).toMatchObject({ status: 401 });
    expect(await own.declare({}, { 'x-user-key': 'none' })).toMatchObject({ status: 401 });
    expect(await own.declare({}, { 'x-user-key': other.user.user.key })).toMatchObject({ status: 401 });
  });

  it('refuses a declaration for a conversation of another user, of another bot, and for none', async () => {
    const neighbour = await enter(own);

    expect(await own.declare({ conversationId: neighbour.conversationId })).toMatchObject({ status: 403 });
    expect(await own.declare({ conversationId: other.conversationId })).toMatchObject({ status: 404 });
    expect(await own.declare({ conversationId: undefined })).toMatchObject({ status: 400 });
  });

  it('refuses a declaration of more bytes than visitors may send, and of a name with a path', async () => {
    expect(await own.declare({ size: maxVisitorFileBytes + 1 })).toMatchObject({
      status: 400,
      json: { message: expect.stringContaining(`size must not be greater than ${maxVisitorFileBytes}`) },
    });
    expect(await own.declare({ name: '../../etc/passwd' })).toMatchObject({ status: 400 });
  });
});

it('refuses a body that is larger than declared', async () => {
  const { declare } = await talk();
  const { file } = (await declare({ size: 5 })).json as unknown as { file: DeclaredFile };

  const response = await sendTo(
    new URL(file.uploadUrl).origin,
    `PUT ${file.uploadUrl.replace(/^https?:\/\/[^/]+/, '')}`,
    {
      headers: {},
      body: 'x'.repeat(100_000),
    },
  );

  expect(response).toMatchObject({ status: 400, json: { message: expect.stringContaining('declared as 5') } });
});

it('limits declarations of a user per hour, also all at once, without limiting other users', async () => {
  const conversation = await talk();
  const neighbour = await enter(conversation);

  const answers = await Promise.all(Array.from({ length: requests }, () => conversation.declare()));

  const count = (status: number) => answers.filter((answer) => answer.status === status).length;
  expect([count(201), count(429)]).toEqual([maxVisitorFilesPerHour, requests - maxVisitorFilesPerHour]);
  expect(answers.find(({ status }) => status === 429)!.json).toMatchObject({
    type: 'RateLimited',
    message: expect.stringContaining(`${maxVisitorFilesPerHour} files per hour per user`),
  });
  expect(await neighbour.declare()).toMatchObject({ status: 201 });
});

it('limits files of visitors to half of the storage of a workspace', async () => {
  const { botId } = await talk();
  const of = {
    botId,
    workspaceId: `wkspace_${botId}`,
    userId: 'user_1',
    conversationId: 'conv_1',
    storageQuota: 1_000,
  };
  const declare = (size: number) =>
    api.call(visitorFiles.declare, systemCaller('chat'), { ...of, name: 'a.txt', size });

  await declare(400);
  await expect(declare(200)).rejects.toMatchObject({
    type: 'QuotaExceeded',
    message: expect.stringContaining('half of the storage'),
  });
  await declare(100);
});

describe('files of visitors are erased', () => {
  const gone = (urls: string[]) =>
    waitFor(
      () => Promise.all(urls.map(async (url) => (await fetch(url)).status)),
      (statuses) => statuses.every((status) => status === 403),
    );

  it('erases files of visitors with their conversation', async () => {
    const conversation = await talk();
    const neighbour = await enter(conversation);
    const [file, kept] = await Promise.all([conversation.upload(), neighbour.upload()]);

    await conversation.user.deleteConversation({ id: conversation.conversationId });

    await gone([file.url]);
    expect((await fetch(kept.url)).status).toBe(200);
  });

  it('erases files of visitors with their user, and no other files', async () => {
    const conversation = await talk();
    const neighbour = await enter(conversation);
    const [file, kept] = await Promise.all([conversation.upload(), neighbour.upload()]);
    const own = await conversation.bot.uploadFile({ key: 'chat/own.txt', content: 'of the bot' });

    await conversation.user.deleteUser({});

    await gone([file.url]);
    expect((await fetch(kept.url)).status).toBe(200);
    expect((await conversation.bot.getFile({ id: own.file.id })).file.key).toBe('chat/own.txt');
  });
});

/** Data about a user and a conversation, which docs/deletion.md lists, and the names of those that are left. */
async function remember() {
  const talkOf = await talk();
  const { bot, botId, conversationId, user, upload } = talkOf;
  const userId = user.user.id;
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  await alice.client.updateBot({
    id: botId,
    states: { ofUser: { type: 'user', schema }, ofConversation: { type: 'conversation', schema } },
  });
  const file = await upload();
  const { message } = await user.createMessage({ conversationId, payload: { type: 'text', text: 'hello' } });
  const payload = { a: 'b' };
  await bot.setState({ type: 'user', id: userId, name: 'ofUser', payload });
  await bot.setState({ type: 'conversation', id: conversationId, name: 'ofConversation', payload });
  const { workflow } = await bot.createWorkflow({ name: 'order', status: 'pending', conversationId, userId });
  const [event] = await waitFor(
    async () => (await bot.listEvents({ messageId: message.id })).events,
    ({ length }) => length > 0,
  );
  const own = await bot.uploadFile({ key: 'own.txt', content: 'of the bot', tags: { conversationId } });
  const reads: Record<string, () => Promise<unknown>> = {
    user: () => bot.getUser({ id: userId }),
    conversation: () => bot.getConversation({ id: conversationId }),
    participant: () => bot.getParticipant({ id: conversationId, userId }),
    'state of the user': () => bot.getState({ type: 'user', id: userId, name: 'ofUser' }),
    'state of the conversation': () =>
      bot.getState({ type: 'conversation', id: conversationId, name: 'ofConversation' }),
    message: () => bot.getMessage({ id: message.id }),
    event: () => bot.getEvent({ id: event!.id }),
    workflow: () => bot.getWorkflow({ id: workflow.id }),
    'file of the user': () => bot.getFile({ id: file.id }),
    'file of the bot': () => bot.getFile({ id: own.file.id }),
  };
  const left = async () => {
    const found = await Promise.all(
      Object.entries(reads).map(async ([name, read]) =>
        read().then(
          () => [name],
          () => [],
        ),
      ),
    );
    return found.flat();
  };
  return { bot, userId, conversationId, message, left };
}

/** As docs/deletion.md has it. */
describe('a deletion leaves', () => {
  it('leaves messages, events, workflows and the conversation of a deleted user', async () => {
    const { bot, userId, message, left } = await remember();
    expect(await left()).toHaveLength(10);

    await bot.deleteUser({ id: userId });

    const kept = ['conversation', 'state of the conversation', 'message', 'event', 'workflow', 'file of the bot'];
    expect(await waitFor(left, (names) => !names.includes('file of the user'))).toEqual(kept);
    expect((await bot.getMessage({ id: message.id })).message.userId).toBe(userId);
  });

  it('leaves the user with its states, workflows and files of the bot of a deleted conversation', async () => {
    const { bot, conversationId, left } = await remember();

    await bot.deleteConversation({ id: conversationId });

    const kept = ['user', 'state of the user', 'workflow', 'file of the bot'];
    expect(await waitFor(left, ({ length }) => length <= kept.length)).toEqual(kept);
  });
});
