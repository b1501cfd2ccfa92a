import type { DeliveryEntry } from '@parley/contracts/runtime/deliveries';
import { json, LoopbackServer, type RequestHandler } from '@parley/testing/loopback-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { AdminModule } from '../../../admin/src/admin.module';
import { AdminConfig } from '../../../admin/src/config';
import { ChatConfig } from '../../../chat/src/config';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../config';
import { RuntimeModule } from '../runtime.module';

const type = 'invocation_calls';
const reason = (quota: number) =>
  `Quota exceeded: the workspace may call its bots ${quota} times a month (invocation_calls).`;

let api: PublicApi;
const servers: LoopbackServer[] = [];

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig),
  );
});

beforeEach(() => {
  const { quotaInvocationCalls, quotaInvocationTimeoutMs } = new AdminConfig();
  Object.assign(api.settings, { quotaInvocationCalls, quotaInvocationTimeoutMs });
});

afterAll(async () => {
  await api?.stop();
  await Promise.all(servers.map((server) => server.close()));
});

/** Bot in a workspace of its own, with its one registration behind it. */
async function newBot(answer: RequestHandler = json({}), maxExecutionTime?: number) {
  const server = await LoopbackServer.start((request, response) =>
    (request.headers['x-bp-operation'] === 'event_received' ? answer : json({}))(request, response),
  );
  servers.push(server);
  const account = await api.newAccount();
  const { id } = (await account.client.createBot({ url: server.url, maxExecutionTime })).bot;
  await waitFor(() => server.requests.length === 1);
  const client = api.client(account.token, account.workspaceId, id);
  const create = async () => (await client.createEvent({ type: 'happened', payload: {} })).event.id;
  const statusOf = async (eventId: string) => (await client.getEvent({ id: eventId })).event.status;
  const isProcessed = (eventId: string) => waitFor(async () => (await statusOf(eventId)) === 'processed');
  return { id, account, client, create, isProcessed, statusOf };
}

type Bot = Awaited<ReturnType<typeof newBot>>;

const usageOf = async ({ client }: Account, id: string) => (await client.getUsage({ id, type })).usage.value;

/** Reports at once what would be due after a minute. */
async function reportNow({ id }: Bot): Promise<void> {
  await api.sql('UPDATE runtime.call_count SET report_at = now() WHERE bot_id = $1 AND report_at IS NOT NULL', [id]);
  api.apps[4]!.get(BackgroundTasks, { strict: false }).wake('runtime.callReports');
}

const untilUsage = (bot: Bot, value: number) =>
  waitFor(
    async () => {
      await reportNow(bot);
      return usageOf(bot.account, bot.id);
    },
    (used) => used === value,
  );

async function deliveriesOf(botId: string) {
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  const { json: answer } = await api.send(`GET /operator/runtime/bots/${botId}/deliveries`, { headers });
  return (answer as { deliveries: DeliveryEntry[] }).deliveries;
}

/** Sends events until one waits because of the quota. */
async function untilParked(bot: Bot): Promise<DeliveryEntry> {
  const parked = await waitFor(
    async () => {
      const eventId = await bot.create();
      const find = async () => (await deliveriesOf(bot.id)).find((delivery) => delivery.eventId === eventId);
      return waitFor(find, (delivery) => delivery !== undefined && delivery.status !== 'pending');
    },
    (delivery) => delivery!.status === 'parked',
  );
  return parked!;
}

/** Lets parked deliveries look again at once instead of after 5 minutes. */
const lookAgain = ({ id }: Bot) =>
  api.sql(`UPDATE runtime.work SET due_at = now() WHERE tenant = $1 AND state = 'parked'`, [id]);

it('counts attempts and registrations as usage of the bot and its workspace, but no pings', async () => {
  const answers = [json({}, 500), json({}), json({})];
  const bot = await newBot((request, response) => answers.shift()!(request, response));
  const headers = { authorization: `Bearer ${api.operatorToken}` };

  await api.send(`POST /operator/runtime/bots/${bot.id}/ping`, { headers, json: {} });
  for (const id of [await bot.create(), await bot.create()]) await bot.isProcessed(id);

  await untilUsage(bot, 4);
  expect(await usageOf(bot.account, bot.account.workspaceId)).toBe(4);
  const { usages } = await bot.account.client.listUsageHistory({ id: bot.id, type });
  expect(usages.map(({ value }) => value)).toEqual([4]);
});

it('reports a total of calls at most once a minute, and none without a call', async () => {
  const bot = await newBot();
  await waitFor(async () => (await usageOf(bot.account, bot.id)) === 1);

  await bot.isProcessed(await bot.create());

  const waiting = () =>
    api.sql<{ calls: string; pause: number }>(
      `SELECT calls, extract(epoch FROM report_at - reported_at)::float8 AS pause FROM runtime.call_count WHERE bot_id = $1`,
      [bot.id],
    );
  expect(await waitFor(waiting, ([row]) => row!.calls === '2')).toEqual([{ calls: '2', pause: 60 }]);
});

it('limits a call by the quota invocation_timeout', async () => {
  api.settings.quotaInvocationTimeoutMs = 300;
  const bot = await newBot(() => undefined, 30);

  const id = await bot.create();

  await waitFor(async () => (await bot.statusOf(id)) === 'failed');
  expect((await bot.client.getEvent({ id })).event.failureReason).toContain('within 300 ms');
});

describe('a workspace that has used up invocation_calls', () => {
  it('delivers events of a workspace once its used-up quota is raised, with an issue meanwhile', async () => {
    api.settings.quotaInvocationCalls = 1;
    const bot = await newBot();
    await untilUsage(bot, 1);

    const parked = await untilParked(bot);
    await untilParked(bot);

    expect(parked).toMatchObject({ reason: reason(1), attempts: [] });
    const { issues } = await waitFor(
      () => bot.account.client.listBotIssues({ id: bot.id }),
      ({ issues: found }) => found.length > 0,
    );
    expect(issues).toMatchObject([{ code: 'quota_exceeded', category: 'limits', eventsCount: 1 }]);
    expect(issues[0]!.description).toContain(reason(1));
    api.settings.quotaInvocationCalls = 1_000;
    await waitFor(async () => {
      await lookAgain(bot);
      return (await bot.statusOf(parked.eventId)) === 'processed';
    });
  });

  it('delivers events of a workspace with a used-up quota in the next month', async () => {
    api.settings.quotaInvocationCalls = 1;
    const bot = await newBot();
    await untilUsage(bot, 1);
    const parked = await untilParked(bot);

    await api.sql(
      `UPDATE admin.usage SET day = to_char(now() AT TIME ZONE 'UTC' - interval '1 month', 'YYYY-MM-DD')
       WHERE bot_id = $1 AND type = $2`,
      [bot.id, type],
    );

    await waitFor(async () => {
      await lookAgain(bot);
      return (await bot.statusOf(parked.eventId)) === 'processed';
    });
  });
});

it('erases the counts of a deleted bot, and reports its last calls', async () => {
  const bot = await newBot();
  const { client, workspaceId } = bot.account;
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  const leftovers = async () =>
    (await api.send(`GET /operator/runtime/bots/${bot.id}/leftovers`, { headers })).json as { callCounts: number };
  await waitFor(async () => (await usageOf(bot.account, bot.id)) === 1);
  await bot.isProcessed(await bot.create());
  await waitFor(
    () => api.sql<{ calls: string }>('SELECT calls FROM runtime.call_count WHERE bot_id = $1', [bot.id]),
    ([row]) => row!.calls === '2',
  );
  expect(await leftovers()).toMatchObject({ callCounts: 1 });

  await client.deleteBot({ id: bot.id });

  await waitFor(leftovers, ({ callCounts }) => callCounts === 0);
  await waitFor(async () => (await usageOf(bot.account, workspaceId)) === 2);
});
