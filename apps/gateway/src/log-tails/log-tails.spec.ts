import type { LogLine } from '@parley/contracts/runtime/logs';
import { LogWriter } from '@parley/testing/log-writer';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../../../runtime/src/config';
import { RuntimeModule } from '../../../runtime/src/runtime.module';
import { GatewayModule } from '../gateway.module';
import { type Client, listen } from '../test/listening-client';

let api: PublicApi;
let account: Account;
let other: Account;

const runtime = new LogWriter(RuntimeModule);

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule, configured(runtime, RuntimeConfig));
  [account, other] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

async function newBot() {
  const { id } = (await account.client.createBot({})).bot;
  const write = (...lines: Partial<LogLine>[]) => runtime.write(id, lines);
  return { id, write };
}

describe('a stream of log lines', () => {
  const streams: Client[] = [];

  afterEach(() => streams.splice(0).forEach((stream) => stream.destroy()));

  async function follow(path: string, headers: Record<string, string>): Promise<Client> {
    const stream = await listen('server-sent events', api.url, { path, headers });
    streams.push(stream);
    return stream;
  }

  const received = (stream: Client, count: number) =>
    waitFor(
      () => stream.received,
      (texts) => texts.length >= count,
    ).then((texts) => texts.map((text) => JSON.parse(text) as LogLine));

  it('streams each new log line of this bot only', async () => {
    const [bot, neighbour] = await Promise.all([newBot(), newBot()]);
    await bot.write({ message: 'before' });
    const stream = await follow(`/v1/admin/bots/${bot.id}/logs/stream`, {
      authorization: `Bearer ${account.token}`,
      'x-workspace-id': account.workspaceId,
    });
    expect(stream.status).toBe(200);

    await neighbour.write({ message: 'of another bot' });
    const first = await bot.write({ message: 'one', conversationId: 'conv_1' }, { message: 'two', level: 'error' });
    const [last] = await bot.write({ message: 'three' });

    expect(await received(stream, 3)).toEqual([...first, last]);
  });

  it('streams log lines to the operator', async () => {
    const bot = await newBot();
    const headers = { authorization: `Bearer ${api.operatorToken}` };
    const stream = await follow(`/operator/runtime/bots/${bot.id}/logs/stream`, headers);

    const lines = await bot.write({ message: 'one' });

    expect(await received(stream, 1)).toEqual(lines);
  });

  it.each<[string, () => Record<string, string>, number]>([
    ['no token', () => ({}), 401],
    ['a token of another workspace', () => ({ authorization: `Bearer ${other.token}` }), 404],
  ])('refuses a stream of log lines with %s', async (_name, headers, code) => {
    const bot = await newBot();

    const { status, json } = await follow(`/v1/admin/bots/${bot.id}/logs/stream`, headers());

    expect([status, json?.code]).toEqual([code, code]);
  });

  it("refuses a stream of log lines for an unknown bot, and the operator's route without its key", async () => {
    const operator = { authorization: `Bearer ${api.operatorToken}` };
    const pat = { authorization: `Bearer ${account.token}` };

    expect((await follow('/operator/runtime/bots/none/logs/stream', operator)).status).toBe(404);
    expect((await follow('/operator/runtime/bots/none/logs/stream', pat)).status).toBe(403);
  });

  it('refuses streams of log lines beyond the limit of a workspace, but not to the operator', async () => {
    const bot = await newBot();
    const headers = { authorization: `Bearer ${account.token}`, 'x-workspace-id': account.workspaceId };
    const opened = await Promise.all(
      Array.from({ length: 20 + 1 }, () => follow(`/v1/admin/bots/${bot.id}/logs/stream`, headers)),
    );

    expect(opened.filter(({ status }) => status === 429)).toHaveLength(1);
    const operator = { authorization: `Bearer ${api.operatorToken}` };
    expect((await follow(`/operator/runtime/bots/${bot.id}/logs/stream`, operator)).status).toBe(200);
    opened.forEach((stream) => stream.destroy());
    await waitFor(
      () => follow(`/v1/admin/bots/${bot.id}/logs/stream`, headers),
      ({ status }) => status === 200,
    );
  });

  it('ends streams of log lines when the gateway stops', async () => {
    const bot = await newBot();
    const headers = { authorization: `Bearer ${api.operatorToken}` };
    const stream = await follow(`/operator/runtime/bots/${bot.id}/logs/stream`, headers);

    await api.stop();

    await waitFor(() => stream.isClosed);
  });
});
