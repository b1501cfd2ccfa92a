import type { Client } from '@botpress/client';
import { codeNotLoadable, deploymentRefused } from '@parley/contracts/admin/bots';
import { budgetReached } from '@parley/contracts/models/use';
import { BudgetIssuesHandler } from './budget-issues.handler';
import { newId } from '@parley/persistence/ids';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { type LoopbackRequest, LoopbackServer } from '@parley/testing/loopback-server';
import { waitFor } from '@parley/testing/wait-for';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatConfig } from '../../../chat/src/config';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../config';
import { eraseBots } from './erasure-queue';
import { RuntimeModule } from '../runtime.module';
import { type Failure, IssueRecordsService } from './issue-records.service';
import { IssuesService } from './issues.service';
import { UnloadableCodeHandler } from './unloadable-code.handler';

const perSecond = 5;

let api: PublicApi;
let alice: Account;
let server: LoopbackServer;

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig, { deliveriesPerBotPerSecond: perSecond }),
  );
  alice = await api.newAccount();
  // The event says how the bot answers.
  server = await LoopbackServer.start(({ body }: LoopbackRequest, response) => {
    const { event } = body as { event?: { payload: { status?: number; message?: string } } };
    // Deployed bots are also asked to register.
    const { status, message } = event ? event.payload : { status: 200, message: '' };
    if (status !== undefined) response.writeHead(status).end(JSON.stringify({ message }));
  });
});

afterAll(async () => {
  await server?.close();
  await api?.stop();
});

interface TestBot {
  id: string;
  client: Client;
}

async function newBot(definition: Parameters<Client['createBot']>[0] = {}): Promise<TestBot> {
  const { id } = (await alice.client.createBot({ url: server.url, ...definition })).bot;
  return { id, client: api.client(alice.token, alice.workspaceId, id) };
}

async function sendEvent(bot: TestBot, payload: { status?: number; message?: string }): Promise<string> {
  return (await bot.client.createEvent({ type: 'order', payload })).event.id;
}

/** Sends an event that the bot refuses with this message. */
const fail = (bot: TestBot, message: string) => sendEvent(bot, { status: 400, message });

const issuesOf = async ({ id }: TestBot) => (await alice.client.listBotIssues({ id })).issues;

/** Issues of the bot, once they count so many events. */
async function untilCounted(bot: TestBot, events: number) {
  const total = (issues: { eventsCount: number }[]) => issues.reduce((sum, { eventsCount }) => sum + eventsCount, 0);
  return waitFor(
    () => issuesOf(bot),
    (issues) => total(issues) >= events,
  );
}

function inRuntime<T>(type: new (...given: never[]) => T): T {
  return api.apps.at(-1)!.get(type, { strict: false });
}

const failureOf = (bot: TestBot, changes: Partial<Failure> = {}): Failure => ({
  botId: bot.id,
  code: 'c',
  title: 't',
  description: 'd',
  category: 'other',
  data: {},
  ...changes,
});

describe('a delivery that failed for good', () => {
  it('records a delivery that failed for good in an issue, with its event, type and reason', async () => {
    const bot = await newBot();

    const eventId = await fail(bot, 'Order 17 not found');
    const [issue] = await untilCounted(bot, 1);

    expect(issue).toEqual({
      id: expect.stringMatching(/^issue_/) as string,
      code: 'event_failed',
      category: 'user_code',
      title: 'The bot failed to handle an event',
      description: 'Order 17 not found',
      groupedData: {},
      eventsCount: 1,
      createdAt: issue!.lastSeenAt,
      lastSeenAt: expect.any(String) as string,
      resolutionLink: null,
    });
    expect(await alice.client.getBotIssue({ id: bot.id, issueId: issue!.id })).toEqual({ issue });
    const { issueEvents } = await alice.client.listBotIssueEvents({ id: bot.id, issueId: issue!.id });
    expect(issueEvents).toEqual([
      {
        id: expect.stringMatching(/^issev_/) as string,
        createdAt: issue!.lastSeenAt,
        data: { eventId: { raw: eventId }, eventType: { raw: 'order' }, reason: { raw: 'Order 17 not found' } },
      },
    ]);
  });

  it('adds a failure to the issue of its kind, whenever that was written', async () => {
    const bot = await newBot();

    await fail(bot, 'Order 17 not found');
    const [first] = await untilCounted(bot, 1);
    await fail(bot, 'Order 18 not found');
    await fail(bot, 'Nobody is here');
    const issues = await untilCounted(bot, 3);

    const found = issues.find(({ id }) => id === first!.id)!;
    expect(issues).toHaveLength(2);
    expect(found).toMatchObject({ eventsCount: 2, description: 'Order 18 not found', createdAt: first!.createdAt });
    expect(found.lastSeenAt > first!.lastSeenAt).toBe(true);
    const { issueEvents } = await alice.client.listBotIssueEvents({ id: bot.id, issueId: found.id });
    expect(issueEvents.map(({ data }) => data['reason']!.raw)).toEqual(['Order 18 not found', 'Order 17 not found']);
  });

  it('counts a failed delivery once after its last attempt, as for a bot that does not answer in time', async () => {
    const bot = await newBot({ maxExecutionTime: 1 });

    await sendEvent(bot, {});
    const issues = await untilCounted(bot, 1);

    expect(issues).toMatchObject([{ code: 'event_failed', eventsCount: 1 }]);
  });

  it('records no issue for an event that is processed', async () => {
    const bot = await newBot();

    await sendEvent(bot, { status: 200 });
    await fail(bot, 'After it');

    expect(await untilCounted(bot, 1)).toMatchObject([{ description: 'After it', eventsCount: 1 }]);
  });
});

it('records once a minute that the rate limit delays the events of a bot', async () => {
  const bot = await newBot();

  const ids = await Promise.all(Array.from({ length: perSecond + 3 }, () => sendEvent(bot, { status: 200 })));
  await waitFor(async () => {
    const events = await Promise.all(ids.map((id) => bot.client.getEvent({ id })));
    return events.every(({ event }) => event.status === 'processed');
  });

  expect(await untilCounted(bot, 1)).toMatchObject([
    { code: 'events_delayed', category: 'limits', eventsCount: 1, title: 'Events of the bot were delayed' },
  ]);
});

describe('issues', () => {
  it('keeps the latest 20 events of an issue and counts all', async () => {
    const bot = await newBot();
    const records = inRuntime(IssueRecordsService);
    const recordThem = (from: number, to: number) => {
      for (let nth = from; nth <= to; nth++) records.record(failureOf(bot, { data: { nth: { raw: `${nth}` } } }));
    };

    recordThem(1, 15);
    await untilCounted(bot, 15);
    recordThem(16, 45);
    const [issue] = await untilCounted(bot, 45);

    const { issueEvents } = await alice.client.listBotIssueEvents({ id: bot.id, issueId: issue!.id });
    expect(issue!.eventsCount).toBe(45);
    expect(issueEvents.map(({ data }) => Number(data['nth']!.raw))).toEqual(
      Array.from({ length: 20 }, (_, index) => 45 - index),
    );
  });

  it('groups issues by the named data', async () => {
    const bot = await newBot();
    const page = (raw: string) =>
      failureOf(bot, { groupBy: ['page'], description: raw, data: { page: { raw: 'a', pretty: 'A' }, at: { raw } } });

    inRuntime(IssueRecordsService).record(page('here'));
    inRuntime(IssueRecordsService).record(page('there'));

    const [issue] = await untilCounted(bot, 2);
    expect(issue).toMatchObject({ eventsCount: 2, groupedData: { page: { raw: 'a', pretty: 'A' } } });
    expect(issue!.groupedData).not.toHaveProperty('at');
  });

  it('lists issues by pages, the latest seen first', async () => {
    const bot = await newBot();
    const codes = ['one', 'two', 'three'];
    for (const [index, code] of codes.entries()) {
      inRuntime(IssueRecordsService).record(failureOf(bot, { code }));
      await untilCounted(bot, index + 1);
    }

    const first = await alice.client.listBotIssues({ id: bot.id, pageSize: 2 });
    const second = await alice.client.listBotIssues({ id: bot.id, pageSize: 2, nextToken: first.meta.nextToken });

    expect([first, second].map(({ issues }) => issues.map(({ code }) => code))).toEqual([['three', 'two'], ['one']]);
    expect(second.meta.nextToken).toBeUndefined();
  });

  it('deletes an issue once, and creates it anew for the next failure', async () => {
    const bot = await newBot();
    await fail(bot, 'Gone');
    const [{ id: issueId } = { id: '' }] = await untilCounted(bot, 1);

    await alice.client.deleteBotIssue({ id: bot.id, issueId });

    const again = alice.client.deleteBotIssue({ id: bot.id, issueId });
    await expect(again).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect(await issuesOf(bot)).toEqual([]);
    await fail(bot, 'Gone');
    expect(await untilCounted(bot, 1)).toMatchObject([{ eventsCount: 1 }]);
  });

  it('deletes issues 14 days after their latest event', async () => {
    const bot = await newBot();
    for (const code of ['old', 'recent']) inRuntime(IssueRecordsService).record(failureOf(bot, { code }));
    await untilCounted(bot, 2);
    const age = (code: string, days: number) =>
      api.sql(
        'UPDATE runtime.issue SET last_seen_at = now() - make_interval(days => $3) WHERE bot_id = $1 AND code = $2',
        [bot.id, code, days],
      );
    await age('old', 15);
    await age('recent', 13);

    await inRuntime(IssuesService).deleteOld();

    expect(await issuesOf(bot)).toMatchObject([{ code: 'recent' }]);
  });

  it('hides issues from other workspaces, and returns 404 for another id', async () => {
    const bot = await newBot();
    const other = await newBot();
    await fail(bot, 'Secret');
    const [{ id: issueId } = { id: '' }] = await untilCounted(bot, 1);
    const mallory = (await api.newAccount()).client;

    const refused = [
      mallory.listBotIssues({ id: bot.id }),
      mallory.getBotIssue({ id: bot.id, issueId }),
      mallory.listBotIssueEvents({ id: bot.id, issueId }),
      mallory.deleteBotIssue({ id: bot.id, issueId }),
      alice.client.getBotIssue({ id: other.id, issueId }),
      alice.client.listBotIssueEvents({ id: other.id, issueId }),
      alice.client.deleteBotIssue({ id: other.id, issueId }),
      alice.client.listBotIssues({ id: 'none' }),
    ];

    for (const refusal of refused) await expect(refusal).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect(await issuesOf(bot)).toHaveLength(1);
  });

  it('refuses to delete issues for viewers', async () => {
    const bot = await newBot();
    await fail(bot, 'Seen');
    const [{ id: issueId } = { id: '' }] = await untilCounted(bot, 1);
    const { accountId, token } = await api.newAccount();
    await api.addMember(alice.workspaceId, accountId, 'viewer');
    const viewer = api.client(token, alice.workspaceId);

    const deletion = viewer.deleteBotIssue({ id: bot.id, issueId });

    await expect(deletion).rejects.toMatchObject({ type: 'Forbidden' });
    expect((await viewer.listBotIssues({ id: bot.id })).issues).toHaveLength(1);
  });

  it('erases issues with their bot', async () => {
    const bot = await newBot();
    await fail(bot, 'Left');
    await untilCounted(bot, 1);
    const leftovers = async () => {
      const headers = { authorization: `Bearer ${api.operatorToken}` };
      return (await api.send(`GET /operator/runtime/bots/${bot.id}/leftovers`, { headers })).json as object;
    };
    expect(await leftovers()).toMatchObject({ issues: 1 });

    await alice.client.deleteBot({ id: bot.id });

    await waitFor(leftovers, (left) => (left as { issues: number }).issues === 0);
  });
});

describe('code that cannot be loaded', () => {
  async function handleThrice(botId: string): Promise<void> {
    const data = { botId, failure: 'The code throws.', isDeployed: true };
    const event = { id: newId('outbox'), subject: codeNotLoadable.subject, data };
    for (const attempt of [1, 2, 3])
      await inRuntime(UnloadableCodeHandler).record(data, { event, attempt, signal: new AbortController().signal });
  }

  it('counts a deployment of code that cannot be loaded once in its issue although its event is redelivered', async () => {
    const bot = await newBot();

    await handleThrice(bot.id);
    await handleThrice(bot.id);

    expect(await issuesOf(bot)).toMatchObject([
      { code: 'code_not_loadable', category: 'user_code', description: 'The code throws.', eventsCount: 2 },
    ]);
  });

  it('records a deployment that a process of the former release refused', async () => {
    const bot = await newBot();
    const data = { botId: bot.id, failure: 'The code waits for ever.' };
    const event = { id: newId('outbox'), subject: deploymentRefused.subject, data };

    for (const attempt of [1, 2])
      await inRuntime(UnloadableCodeHandler).recordRefused(data, {
        event,
        attempt,
        signal: new AbortController().signal,
      });

    expect(await issuesOf(bot)).toMatchObject([
      { code: 'deployment_refused', description: 'The code waits for ever.', eventsCount: 1 },
    ]);
  });

  it('records no issue of code that cannot be loaded whose bot was deleted before the event came', async () => {
    const bot = await newBot();
    await alice.client.deleteBot({ id: bot.id });
    await waitFor(() =>
      api
        .sql(`SELECT FROM runtime.work WHERE queue = $1 AND key = $2`, [eraseBots.name, bot.id])
        .then(({ length }) => length > 0),
    );

    await handleThrice(bot.id);

    expect(await api.sql('SELECT code FROM runtime.issue WHERE bot_id = $1', [bot.id])).toEqual([]);
  });
});

it('makes one issue of a budget for language models in a month, also of repeated events', async () => {
  const bot = await newBot();
  const budget = { botId: bot.id, scope: 'workspace' as const, month: '2026-01', maxDollars: 5 };
  for (const [id, percent] of [
    ['near', 80],
    ['near', 80],
    ['full', 100],
  ] as const) {
    const event = { id: `outbox_${bot.id}${id}`, subject: budgetReached.subject, data: { ...budget, percent } };
    const delivery = { event, attempt: 1, signal: new AbortController().signal };
    await inRuntime(BudgetIssuesHandler).handle({ ...budget, percent }, delivery);
  }

  const issues = await issuesOf(bot);
  expect(issues.map(({ code, category, eventsCount }) => ({ code, category, eventsCount }))).toEqual([
    { code: 'model_budget_reached', category: 'limits', eventsCount: 1 },
    { code: 'model_budget_near', category: 'limits', eventsCount: 1 },
  ]);
  expect(issues[1]!.description).toBe(
    '80 % of the budget of the workspace for language models in 2026-01 ($5) are used. Calls are refused when all of it is used.',
  );
});

describe('recording', () => {
  it('drops and counts failures when too many kinds wait, also for one bot', async () => {
    const [noisy, quiet] = [await newBot(), await newBot()];
    const records = inRuntime(IssueRecordsService);
    const { metrics } = api.apps.at(-1)!.get<Platform>(platformToken, { strict: false });

    for (let nth = 0; nth < 60; nth++) records.record(failureOf(noisy, { code: `kind${nth}` }));
    records.record(failureOf(quiet));

    await untilCounted(quiet, 1);
    expect(await untilCounted(noisy, 20)).not.toHaveLength(0);
    expect((await metrics.text()).toString()).toMatch(/^parley_issue_events_dropped_total 10$/m);
  });

  it('shortens long texts of issues', async () => {
    const bot = await newBot();
    const raw = 'x'.repeat(100_000);

    inRuntime(IssueRecordsService).record(failureOf(bot, { description: raw, data: { raw: { raw } } }));

    const [issue] = await untilCounted(bot, 1);
    expect(issue!.description).toHaveLength(1_000);
  });

  it('keeps the 500 kinds of issues of a bot that were seen last', async () => {
    const bot = await newBot();
    await api.sql(
      `INSERT INTO runtime.issue SELECT $1, 'issue_' || n, n::text, 'old', 'other', '', '', '{}', 1, '[]', now(), now() - n * interval '1 s'
       FROM generate_series(1, 500) n`,
      [bot.id],
    );

    inRuntime(IssueRecordsService).record(failureOf(bot, { code: 'new' }));

    await waitFor(async () => (await issuesOf(bot))[0]?.code === 'new');
    const [{ count } = { count: 0 }] = await api.sql<{ count: number }>(
      `SELECT count(*)::int FROM runtime.issue WHERE bot_id = $1 AND id <> 'issue_500'`,
      [bot.id],
    );
    await waitFor(
      async () =>
        (await api.sql(`SELECT FROM runtime.issue WHERE bot_id = $1 AND id = 'issue_500'`, [bot.id])).length === 0,
    );
    expect(count).toBe(500);
  });
});
