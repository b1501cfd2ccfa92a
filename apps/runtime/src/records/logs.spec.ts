import type { Client as ApiClient } from '@botpress/client';
import type { LogLine } from '@parley/contracts/runtime/logs';
import { LogWriter } from '@parley/testing/log-writer';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatConfig } from '../../../chat/src/config';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../config';
import { RuntimeModule } from '../runtime.module';

let api: PublicApi;
let account: Account;
let other: Account;

const runtime = new LogWriter(RuntimeModule);

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(runtime, RuntimeConfig),
  );
  [account, other] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

const hourAgo = () => new Date(Date.now() - 3_600_000).toISOString();

async function newBot() {
  const { bot } = await account.client.createBot({});
  const write = (...lines: Partial<LogLine>[]) => runtime.write(bot.id, lines);
  const list = (query: Partial<Parameters<ApiClient['getBotLogs']>[0]> = {}) =>
    account.client.getBotLogs({ id: bot.id, timeStart: hourAgo(), ...query });
  const messages = async (query: Parameters<typeof list>[0] = {}) =>
    (await list(query)).logs.map(({ message }) => message);
  return { id: bot.id, client: api.client(account.token, account.workspaceId, bot.id), write, list, messages };
}

it('lists logs newest first, with the ids of their event, user, conversation, workflow and trace', async () => {
  const bot = await newBot();
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const context = { eventId: 'evt_1', userId: 'user_1', conversationId: 'conv_1', workflowId: 'workflow_1', traceId };
  const [first, second] = await bot.write({ message: 'one' }, { message: 'two', level: 'error', ...context });

  expect((await bot.list()).logs).toEqual([
    { timestamp: second!.timestamp, level: 'error', message: 'two', ...context },
    { timestamp: first!.timestamp, level: 'info', message: 'one' },
  ]);
});

it('finds logs by each filter', async () => {
  const bot = await newBot();
  const [, second] = await bot.write(
    { message: 'the RED 100% fox_a', level: 'debug', userId: 'u1', conversationId: 'c1' },
    { message: 'the blue fox', userId: 'u2', conversationId: 'c1', workflowId: 'w' },
    { message: 'the green hen', level: 'warn', userId: 'u2', conversationId: 'c2', eventId: 'evt_1' },
  );

  expect(await bot.messages({ level: 'warn' })).toEqual(['the green hen']);
  expect(await bot.messages({ userId: 'u2' })).toEqual(['the green hen', 'the blue fox']);
  expect(await bot.messages({ conversationId: 'c1' })).toEqual(['the blue fox', 'the RED 100% fox_a']);
  expect(await bot.messages({ workflowId: 'w' })).toEqual(['the blue fox']);
  expect(await bot.messages({ messageContains: 'FOX' })).toEqual(['the blue fox', 'the RED 100% fox_a']);
  expect(await bot.messages({ messageContains: '0%' })).toEqual(['the RED 100% fox_a']);
  expect(await bot.messages({ messageContains: 'fox_' })).toEqual(['the RED 100% fox_a']);
  expect(await bot.messages({ messageContains: '\\' })).toEqual([]);
  // The public client does not know this filter.
  const headers = { authorization: `Bearer ${account.token}`, 'x-workspace-id': account.workspaceId };
  const ofEvent = `GET /v1/admin/bots/${bot.id}/logs?timeStart=${hourAgo()}&eventId=evt_1`;
  expect((await api.send(ofEvent, { headers })).json).toMatchObject({ logs: [{ message: 'the green hen' }] });
  expect(await bot.messages({ userId: 'u2', conversationId: 'c1', level: 'info' })).toEqual(['the blue fox']);
  expect(await bot.messages({ timeEnd: second!.timestamp })).toEqual(['the blue fox', 'the RED 100% fox_a']);
  expect(await bot.messages({ timeStart: second!.timestamp })).toEqual(['the green hen', 'the blue fox']);
});

it('lists logs by page, without gaps among lines of one time', async () => {
  const bot = await newBot();
  const timestamp = new Date().toISOString();
  const texts = Array.from({ length: 450 }, (_one, index) => `line ${index}`);
  await bot.write(...texts.map((message) => ({ message, timestamp })));

  const pages: string[][] = [];
  const timeStart = hourAgo();
  let nextToken: string | undefined;
  do {
    const page = await bot.list({ timeStart, nextToken });
    pages.push(page.logs.map(({ message }) => message));
    nextToken = page.nextToken;
  } while (nextToken);

  expect(pages.map(({ length }) => length)).toEqual([200, 200, 50]);
  expect(pages.flat()).toEqual(texts.reverse());
});

it.each([
  [{ level: 'loud' }, 'level must be one of: debug, info, warn, error'],
  [{ timeStart: 'yesterday' }, 'timeStart must be a time such as'],
  [{ timeEnd: 'now' }, 'timeEnd must be a time such as'],
  [{ nextToken: 'x' }, 'nextToken'],
])('refuses a list of logs with %j', async (query, message) => {
  const bot = await newBot();

  await expect(bot.list(query)).rejects.toMatchObject({ code: 400, message: expect.stringContaining(message) });
});

it('stores a log line once, however often a runner sends it', async () => {
  const bot = await newBot();
  const [line] = await bot.write({ message: 'once \u0000 \ud800' });

  await bot.write(line!, line!);

  expect(await bot.messages()).toEqual(['once \ufffd \ufffd']);
});

it('returns 404 for logs of another workspace', async () => {
  const bot = await newBot();
  await bot.write({});

  await expect(other.client.getBotLogs({ id: bot.id, timeStart: hourAgo() })).rejects.toMatchObject({
    type: 'ResourceNotFound',
  });
});

it('erases logs with their conversation and their user', async () => {
  const bot = await newBot();
  const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: {} });
  const { user } = await bot.client.createUser({ tags: {} });
  await bot.write(
    { message: 'of both', conversationId: conversation.id, userId: user.id },
    { message: 'of the conversation', conversationId: conversation.id },
    { message: 'of the user', userId: user.id },
    { message: 'of nobody' },
  );

  await bot.client.deleteConversation({ id: conversation.id });
  await waitFor(bot.messages, (left) => left.length === 2);
  expect(await bot.messages()).toEqual(['of nobody', 'of the user']);

  await bot.client.deleteUser({ id: user.id });
  await waitFor(bot.messages, (left) => left.length === 1);
  expect(await bot.messages()).toEqual(['of nobody']);
});

it('erases logs with the bot, and stores no later lines', async () => {
  const bot = await newBot();
  await bot.write({}, {});
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  const left = async () =>
    (await api.send(`GET /operator/runtime/bots/${bot.id}/leftovers`, { headers })).json as unknown as {
      logLines: number;
    };
  expect(await left()).toMatchObject({ logLines: 2 });

  await account.client.deleteBot({ id: bot.id });

  await waitFor(left, ({ logLines }) => logLines === 0);
  await bot.write({});
  expect(await left()).toMatchObject({ logLines: 0 });
});
