import type { Client } from '@botpress/client';
import { maxLoadFailureLength } from '@parley/contracts/admin/bots';
import { strictDeployHeader } from '@parley/contracts/code';
import { messagesOutgoing } from '@parley/contracts/chat/outgoing-messages';
import { ApiError } from '@parley/contracts/errors';
import { instanceOperation } from '@parley/contracts/operation';
import {
  announceMs,
  type CodeAnswer,
  type CodeCheck,
  invokeCode,
  type InvokeCode,
  type Lacking,
  LoadCode,
  putCodePart,
  type PutCodePart,
  runnerAnnounced,
  runnerError,
  runnersWanted,
} from '@parley/contracts/runner/runner';
import type { DeliveryEntry } from '@parley/contracts/runtime/deliveries';
import { warningHeader } from '@parley/contracts/warning';
import { newId } from '@parley/persistence/ids';
import { SealedBoxKey } from '@parley/secrets/sealed-box';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { ParleyClient } from '@parley/transport/parley-client';
import { ParleyServer } from '@parley/transport/parley-server';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { WorkRepository } from '@parley/work-queue/work.repository';
import { AdminModule } from '../../../admin/src/admin.module';
import { AdminConfig } from '../../../admin/src/config';
import { ChatConfig } from '../../../chat/src/config';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubConfig } from '../../../hub/src/config';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../config';
import { deliveryQueue } from '../deliveries/delivery-queues';
import { integrationRegistrations } from '../registrations/registration-queues';
import { messageDeliveries } from '../message-deliveries/message-delivery-queue';
import { registrations } from '../registrations/registration-queues';
import { RuntimeModule } from '../runtime.module';

type Answer = (call: InvokeCode) => CodeAnswer | Promise<CodeAnswer>;

const fine: Answer = () => ({ status: 200, body: '{"output":{"is":"done"}}' });
const fails =
  (...failure: Parameters<typeof runnerError>): Answer =>
  () => {
    throw runnerError(...failure);
  };
const notStarted = fails('not started', 'The machine is too busy to start the process of the code.');
/** Answer of a bus to which the runner is lost, and of a runner that stops. */
const ended: Answer = () => {
  throw new ApiError('OperationTimeout', 'runner.invoke did not answer in time.');
};

const queues = [deliveryQueue, messageDeliveries, registrations, integrationRegistrations].map(({ name }) => name);

/** Served by the key `run`, its subject is that of `runner.codeChecks.run`. */
const codeCheck = instanceOperation({ subject: 'runner.codeChecks', input: LoadCode, output: Object });

let api: PublicApi;
let account: Account;
let runner: StandInRunner;

/** Runner that answers like a test tells it. */
class StandInRunner {
  readonly id = newId('runner');
  readonly calls: InvokeCode[] = [];
  /** Answers of the next calls by operation; others succeed. */
  answers: Record<string, Answer[]> = {};
  readonly checks: LoadCode[] = [];
  readonly parts: PutCodePart[] = [];
  onPart: () => Promise<object> = () => Promise.resolve({});
  private readonly boxKey = new SealedBoxKey();
  onCheck: () => Promise<CodeCheck> = () => Promise.resolve({ failure: null });
  private serving: { live: Promise<void>; stop: () => void }[] = [];
  private timer?: NodeJS.Timeout;
  private isLeaving = false;

  constructor(
    private readonly client: ParleyClient,
    private readonly server: ParleyServer,
  ) {}

  async start(): Promise<void> {
    this.serving = [
      this.server.serveInstance(invokeCode, this.id, async (_caller, call) => this.answer(call)),
      this.server.serveInstance(codeCheck, 'run', (_caller, check) => {
        this.checks.push(check);
        return this.onCheck();
      }),
      this.server.serveInstance(putCodePart, this.id, (_caller, part) => {
        this.parts.push(part);
        return this.onPart();
      }),
    ];
    await Promise.all(this.serving.map(({ live }) => live));
    this.client.listen(runnersWanted, () => this.announce());
    this.timer = setInterval(() => this.announce(), announceMs);
    this.announce();
  }

  stop(): void {
    clearInterval(this.timer);
    this.isLeaving = true;
    this.announce();
    this.serving.forEach((served) => served.stop());
  }

  /** Calls of this operation for a bot. */
  callsOf(botId: string, operation: string): InvokeCode[] {
    return this.calls.filter((call) => call.botId === botId && call.headers['x-bp-operation'] === operation);
  }

  /** Refuses a call for the lack of these. */
  lacking(...lacks: Lacking['lacks']): Answer {
    return fails('unprepared', 'It lacks something.', { lacks, publicKey: this.boxKey.publicKey });
  }

  /** Secrets that a call brought. */
  opened({ ownerId, codeRevision: revision, sealed = [] }: InvokeCode): object {
    const parts = sealed.map((text) => JSON.parse(this.boxKey.open({ ownerId, revision }, text)) as object);
    return Object.assign({}, ...parts) as object;
  }

  private answer(call: InvokeCode): CodeAnswer | Promise<CodeAnswer> {
    this.calls.push(call);
    const next = this.answers[call.headers['x-bp-operation']!]?.shift() ?? fine;
    return next(call);
  }

  private announce(): void {
    this.client.broadcast(runnerAnnounced, { runnerId: this.id, freePlaces: 4, isLeaving: this.isLeaving });
  }
}

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    configured(AdminModule, AdminConfig),
    configured(HubModule, HubConfig),
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig),
  );
  account = await api.newAccount();
});

afterAll(() => api?.stop());

beforeEach(async () => {
  const runtime = api.apps.at(-1)!;
  runner = new StandInRunner(
    runtime.get(ParleyClient, { strict: false }),
    runtime.get(ParleyServer, { strict: false }),
  );
  await runner.start();
});

afterEach(() => runner.stop());

const anything = { schema: { type: 'object' } };

async function newBot(definition: Parameters<Client['createBot']>[0] = {}) {
  const { bot } = await account.client.createBot({ code: 'exports.handler = () => {}', ...definition });
  const client = api.client(account.token, account.workspaceId, bot.id);
  const create = async (conversationId?: string) =>
    (await client.createEvent({ type: 'happened', payload: {}, conversationId })).event.id;
  const settled = (id: string) =>
    soon(
      async () => (await client.getEvent({ id })).event,
      ({ status }) => status !== 'pending',
    );
  const delivery = async (eventId: string) => {
    const headers = { authorization: `Bearer ${api.operatorToken}` };
    const { json } = await api.send(`GET /operator/runtime/bots/${bot.id}/deliveries?eventId=${eventId}`, { headers });
    return (json as { deliveries: DeliveryEntry[] }).deliveries[0];
  };
  const issues = async () => (await account.client.listBotIssues({ id: bot.id })).issues.map(({ code }) => code);
  return {
    id: bot.id,
    client,
    create,
    settled,
    delivery,
    issues,
    calls: () => runner.callsOf(bot.id, 'event_received'),
  };
}

/** Waits for the condition, and ends each pause of work at once. */
function soon<T>(ask: () => Promise<T>, isWanted: (answer: T) => boolean): Promise<T> {
  const runtime = api.apps.at(-1)!;
  const work = runtime.get(WorkQueue, { strict: false });
  const rows = runtime.get(WorkRepository, { strict: false });
  return waitFor(async () => {
    await api.sql(`UPDATE runtime.work SET due_at = now() WHERE state IN ('waiting', 'parked') AND due_at > now()`);
    const { ready } = await rows.releaseDueWork(queues);
    ready.forEach((queue) => work.wake(queue));
    return ask();
  }, isWanted);
}

describe('an event', () => {
  it('parks an event while the process of its code does not get ready, without counting an attempt', async () => {
    const bot = await newBot();
    let isReady = false;
    runner.answers['event_received'] = Array<Answer>(20).fill((call) => (isReady ? fine : notStarted)(call));

    const id = await bot.create();
    const parked = await waitFor(
      () => bot.delivery(id),
      (found) => found?.status === 'parked',
    );
    await soon(
      async () => bot.calls().length,
      (count) => count > 5,
    );
    isReady = true;

    expect(parked).toMatchObject({ reason: expect.stringContaining('too busy'), attempts: [] });
    expect(await bot.settled(id)).toMatchObject({ status: 'processed' });
    expect(await bot.delivery(id)).toMatchObject({ attempts: [{ status: 200 }] });
    expect(new Set(bot.calls().map(({ headers }) => headers['x-bp-attempt']))).toEqual(new Set(['1']));
  });

  it('delivers an event although ten runners end under it, without counting attempts', async () => {
    const bot = await newBot();
    const answers = [...Array<Answer>(5).fill(ended), fails('failed', 'no'), ...Array<Answer>(5).fill(ended)];
    runner.answers['event_received'] = [...answers, fails('failed', 'no'), fails('failed', 'no')];

    const id = await bot.create();

    expect(await bot.settled(id)).toMatchObject({ status: 'processed' });
    expect(bot.calls().map(({ headers }) => Number(headers['x-bp-attempt']))).toEqual([
      ...Array<number>(6).fill(1),
      ...Array<number>(6).fill(2),
      3,
      4,
    ]);
    expect((await bot.delivery(id))!.attempts.map(({ error }) => error)).toEqual(['no', 'no', 'no', null]);
    expect(await bot.issues()).toEqual([]);
  });

  it('delivers an event although nine platform processes ended under it, without counting attempts', async () => {
    const bot = await newBot();
    runner.answers['event_received'] = [notStarted];
    const id = await bot.create();
    await waitFor(
      () => bot.delivery(id),
      (found) => found?.status === 'parked',
    );

    await api.sql(`UPDATE runtime.work SET attempts = 9 WHERE queue = $1 AND key LIKE '%' || $2`, [
      deliveryQueue.name,
      id,
    ]);

    expect(await bot.settled(id)).toMatchObject({ status: 'processed' });
    expect(bot.calls().map(({ headers }) => headers['x-bp-attempt'])).toEqual(['1', '1']);
  });

  it('fails an event that ends each runner, and delivers the next one of the conversation', async () => {
    const bot = await newBot();
    const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: {} });
    const isPoison = ({ body }: InvokeCode) => body.includes(poison);
    runner.answers['event_received'] = Array<Answer>(30).fill((call) => (isPoison(call) ? ended : fine)(call));

    const poison = await bot.create(conversation.id);
    const next = await bot.create(conversation.id);

    expect(await bot.settled(poison)).toMatchObject({
      status: 'failed',
      failureReason: 'The runner ended before the code answered.',
    });
    expect(await bot.settled(next)).toMatchObject({ status: 'processed' });
    expect(bot.calls().map(isPoison)).toEqual([...Array<boolean>(14).fill(true), false]);
  });

  it('fails an event after three attempts to load its code', async () => {
    const bot = await newBot();
    runner.answers['event_received'] = Array<Answer>(4).fill(fails('not loadable', 'The code waits for ever.'));

    const id = await bot.create();

    expect(await bot.settled(id)).toMatchObject({ status: 'failed', failureReason: 'The code waits for ever.' });
    expect(bot.calls()).toHaveLength(3);
  });

  it('leaves slots when code hangs while it loads, however many such bots a workspace has', async () => {
    const hostile = [await newBot(), await newBot(), await newBot(), await newBot()];
    const healthy = await newBot();
    const ends: (() => void)[] = [];
    const hang: Answer = () =>
      new Promise((_resolve, reject) =>
        ends.push(() => reject(runnerError('not loadable', 'The code waits for ever.'))),
      );
    const seen = new Map<string, number>();
    runner.answers['event_received'] = Array<Answer>(99).fill((call) => {
      const count = (seen.get(call.botId) ?? 0) + 1;
      seen.set(call.botId, count);
      if (call.botId === healthy.id) return fine(call);
      return count === 1 ? fails('not loadable', 'The code waits for ever.')(call) : hang(call);
    });

    const ids = await Promise.all(hostile.map((bot) => bot.create()));
    await soon(
      () => Promise.resolve(ends.length),
      (hanging) => hanging === 2,
    );
    await waitFor(
      () => Promise.all(hostile.map((bot, index) => bot.delivery(ids[index]!))),
      (found) => found.filter((delivery) => delivery?.status === 'parked').length === 2,
    );
    const id = await healthy.create();

    expect(await healthy.settled(id)).toMatchObject({ status: 'processed' });
    expect(ends).toHaveLength(2);
    const settled = soon(
      async () => {
        ends.splice(0).forEach((end) => end());
        return Promise.all(hostile.map((bot, index) => bot.client.getEvent({ id: ids[index]! })));
      },
      (events) => events.every(({ event }) => event.status === 'failed'),
    );
    expect(await settled).toHaveLength(hostile.length);
  });

  it('accepts the answer of a runner that takes no other call meanwhile', async () => {
    const [slow, other] = [await newBot(), await newBot()];
    let answer: (value: CodeAnswer) => void = () => undefined;
    runner.answers['event_received'] = [() => new Promise((resolve) => (answer = resolve)), fails('away', 'It stops.')];

    const first = await slow.create();
    await waitFor(() => slow.calls().length === 1);
    const second = await other.create();
    await other.settled(second);
    answer({ status: 200, body: '' });

    expect(await slow.settled(first)).toMatchObject({ status: 'processed' });
    expect(slow.calls()).toHaveLength(1);
  });
});

describe('an unprepared runner', () => {
  it('gets code in parts and sealed secrets of a bot, and the call again', async () => {
    const code = `exports.handler = () => {} // ${'ü'.repeat(4_000_000)}`;
    const bot = await newBot({ code, secrets: { COLOR: 'blue' } });
    runner.answers['event_received'] = [runner.lacking('code', 'secrets'), runner.lacking('secrets'), fine];

    const id = await bot.create();

    expect(await bot.settled(id)).toMatchObject({ status: 'processed' });
    expect(await bot.delivery(id)).toMatchObject({ attempts: [{ status: 200 }] });
    const [first, ...again] = bot.calls();
    const bundle = { ownerId: bot.id, codeRevision: first!.codeRevision };
    expect(runner.parts).toMatchObject([
      { ...bundle, offset: 0, nextOffset: 3_999_998 },
      { ...bundle, offset: 3_999_998, nextOffset: 7_999_996 },
      { ...bundle, offset: 7_999_996 },
    ]);
    expect(runner.parts.map(({ text }) => text).join('') === code).toBe(true);
    expect(again.map((call) => runner.opened(call))).toEqual(
      Array(2).fill({ token: expect.stringMatching(/^bp_bak_/), secrets: { COLOR: 'blue' } }),
    );
    expect({ ...again[0], sealed: undefined }).toEqual({ ...first, sealed: undefined });
    expect(JSON.stringify(first)).not.toContain('sealed');
  });

  it('gets code once for calls that it refuses at the same time', async () => {
    const { id } = await newBot({ actions: { try: { input: anything, output: anything } } });
    const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': id };
    const call = () => api.send('POST /v1/chat/actions', { headers, json: { type: 'try', input: {} } });
    runner.answers['action_triggered'] = Array<Answer>(5).fill(runner.lacking('code', 'secrets'));
    let take!: () => void;
    runner.onPart = () => new Promise((resolve) => (take = () => resolve({})));

    const answers = Promise.all([call(), call(), call(), call(), call()]);
    await waitFor(() => runner.callsOf(id, 'action_triggered').length === 5 && take !== undefined);
    take();

    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    expect(runner.parts).toHaveLength(1);
    expect(new Set(runner.callsOf(id, 'action_triggered').map(({ sealed }) => sealed?.[0])).size).toBe(2);
  });

  it('gets code that was deployed meanwhile instead of the former one, which takes no attempt', async () => {
    const bot = await newBot();
    const deployed: Answer = async (call) => {
      await account.client.updateBot({ id: bot.id, code: 'exports.handler = () => {};' });
      return runner.lacking('code', 'secrets')(call);
    };
    runner.answers['event_received'] = [deployed, fine];

    const id = await bot.create();
    expect(await bot.settled(id)).toMatchObject({ status: 'processed' });

    expect(await bot.delivery(id)).toMatchObject({ attempts: [{ status: 200 }] });
    expect(new Set(bot.calls().map(({ codeRevision }) => codeRevision)).size).toBe(2);
  });

  it('leaves an event parked that it refuses again and again, which takes no attempt', async () => {
    const bot = await newBot();
    runner.answers['event_received'] = Array<Answer>(4).fill(runner.lacking('secrets'));

    const id = await bot.create();
    const parked = await waitFor(
      () => bot.delivery(id),
      (found) => found?.status === 'parked',
    );
    expect(bot.calls()).toHaveLength(4);

    expect(parked).toMatchObject({ reason: 'It lacks something.', attempts: [] });
    expect(await bot.settled(id)).toMatchObject({ status: 'processed' });
  });
});

describe('a deployment', () => {
  const waits: CodeCheck = { failure: 'The code waits for ever.' };
  const code = 'broken';
  const headers = () => ({ authorization: `Bearer ${account.token}`, 'x-workspace-id': account.workspaceId });
  const untilIssue = (botId: string) =>
    waitFor(
      () => account.client.listBotIssues({ id: botId }),
      (found) => found.issues.length > 0,
    );

  it('registers a deployment once its code gets ready, which takes no attempt', async () => {
    runner.answers['register'] = [...Array<Answer>(6).fill(notStarted), ...Array<Answer>(6).fill(ended)];

    const bot = await newBot();
    await soon(
      async () => runner.callsOf(bot.id, 'register').length,
      (count) => count === 13,
    );
    await waitFor(async () => (await api.sql(`SELECT 1 FROM runtime.work WHERE key = $1`, [bot.id])).length === 0);

    expect(runner.checks).toHaveLength(1);
    expect(await bot.issues()).toEqual([]);
  });

  it('accepts a deployment unchecked while no runner can check its code', async () => {
    runner.onCheck = () => Promise.reject(new ApiError('OperationTimeout', 'The runner has ended.'));

    const bot = await newBot();
    await account.client.updateBot({ id: bot.id, code: 'exports.handler = () => {};' });

    expect(runner.checks).toMatchObject([{ owner: 'bot' }, { owner: 'bot', ownerId: bot.id }]);
  });

  it('creates a bot whose code cannot be loaded, with an issue', async () => {
    runner.onCheck = () => Promise.resolve(waits);

    const bot = await newBot();

    const { issues } = await untilIssue(bot.id);
    expect(issues).toMatchObject([{ code: 'code_not_loadable', description: 'The code waits for ever.' }]);
  });

  it('returns a warning for a deployment of code that cannot be loaded, as one line of ASCII', async () => {
    const bot = await newBot();
    runner.onCheck = () => Promise.resolve({ failure: `Kein\nSchlüssel \u{1f600}${'x'.repeat(5_000)}` });

    const answer = await api.send(`PUT /v1/admin/bots/${bot.id}`, { headers: headers(), json: { code } });

    expect(answer.status).toBe(200);
    const warning = answer.headers[warningHeader] as string;
    expect(warning).toMatch(/^code: it is deployed, and cannot run\. Kein Schl\?ssel \?{2}x+$/);
    expect(warning).toHaveLength(1_000);
  });

  it('records code that cannot be loaded as an issue with the beginning of a long reason, whatever characters that has', async () => {
    const bot = await newBot();
    runner.onCheck = () => Promise.resolve({ failure: `\0\ud83d${'x'.repeat(5_000)}` });

    await account.client.updateBot({ id: bot.id, code });

    const { issues } = await untilIssue(bot.id);
    const description = `\ufffd\ufffd${'x'.repeat(maxLoadFailureLength - 2)}`;
    expect(issues).toMatchObject([{ code: 'code_not_loadable', category: 'user_code', description }]);
  });

  it('refuses a strict deployment of code that cannot be loaded, which creates and changes nothing', async () => {
    const bot = await newBot();
    runner.onCheck = () => Promise.resolve(waits);
    const strict = { headers: { ...headers(), [strictDeployHeader]: 'true' }, json: { name: 'Strict', code } };

    const answers = [
      await api.send('POST /v1/admin/bots', strict),
      await api.send(`PUT /v1/admin/bots/${bot.id}`, strict),
    ];

    const message = 'code: nothing was deployed. The code waits for ever.';
    expect(answers).toMatchObject(Array(2).fill({ status: 400, json: { type: 'Runtime', message } }));
    expect((await account.client.listBots({})).bots.map(({ name }) => name)).not.toContain('Strict');
    const { issues } = await untilIssue(bot.id);
    expect(issues).toMatchObject([{ code: 'deployment_refused', description: 'The code waits for ever.' }]);
  });

  it('refuses code that cannot be loaded where PARLEY_STRICT_DEPLOY is set', async () => {
    const [adminConfig, hubConfig] = [
      api.apps[1]!.get(AdminConfig, { strict: false }),
      api.apps[2]!.get(HubConfig, { strict: false }),
    ];
    adminConfig.strictDeploy = hubConfig.strictDeploy = 'true';
    runner.onCheck = () => Promise.resolve(waits);

    const deployments = await Promise.allSettled([
      newBot(),
      account.client.createIntegration({ name: 'strict', version: '1.0.0', code }),
    ]);

    adminConfig.strictDeploy = hubConfig.strictDeploy = 'false';
    expect(deployments).toMatchObject(Array(2).fill({ status: 'rejected', reason: { type: 'Runtime', code: 400 } }));
  });
});

describe('an integration', () => {
  async function newIntegration(more: object = {}) {
    const definition = {
      ...more,
      ...{ name: `probe${runner.id.replaceAll(/[^a-z0-9]/gi, '').toLowerCase()}`, version: '1.0.0' },
      code: 'exports.handler = () => {}',
      actions: { try: { input: anything, output: anything } },
      channels: { channel: { messages: { text: { schema: {} } } } },
    };
    return (await account.client.createIntegration(definition)).integration;
  }

  it('brings an unprepared runner the secrets of an integration and its API key', async () => {
    const { id: integrationId } = await newIntegration({ secrets: { COLOR: 'red' } });
    const bot = await newBot();
    await waitFor(() => runner.callsOf(bot.id, 'register').length === 1);
    runner.answers['register'] = [runner.lacking('code', 'secrets')];

    const { bot: installed } = await account.client.updateBot({ id: bot.id, integrations: { [integrationId]: {} } });

    expect(installed.integrations[integrationId]).toMatchObject({ status: 'registered' });
    const [, again] = runner.callsOf(bot.id, 'register').filter(({ owner }) => owner === 'integration');
    expect(runner.parts).toMatchObject([{ ownerId: integrationId, offset: 0, text: 'exports.handler = () => {}' }]);
    expect(runner.opened(again!)).toEqual({ token: expect.stringMatching(/^bp_iak_/), secrets: { COLOR: 'red' } });
  });

  it('shows an integration as pending while its code does not get ready, and registered then', async () => {
    const { id: integrationId } = await newIntegration();
    const bot = await newBot();
    let isReady = false;
    runner.answers['register'] = Array<Answer>(99).fill((call) => (isReady ? fine : notStarted)(call));

    const updated = account.client.updateBot({ id: bot.id, integrations: { [integrationId]: {} } });
    const statusOf = async () => (await account.client.getBot({ id: bot.id })).bot.integrations[integrationId]?.status;
    await soon(
      async () => runner.callsOf(bot.id, 'register').length,
      (count) => count > 5,
    );
    const before = await statusOf();
    isReady = true;
    await soon(statusOf, (status) => status === 'registered');

    expect(before).toBe('registration_pending');
    expect((await updated).bot.integrations[integrationId]).toMatchObject({ status: 'registered', statusReason: null });
    expect(await bot.issues()).toEqual([]);
  });

  it('delivers a message to an integration although runners end under it', async () => {
    const { id: integrationId, name } = await newIntegration();
    const bot = await newBot();
    await account.client.updateBot({ id: bot.id, integrations: { [integrationId]: {} } });
    runner.answers['message_created'] = [...Array<Answer>(6).fill(ended), ...Array<Answer>(6).fill(notStarted)];
    const { conversation } = await bot.client.createConversation({
      ...{ channel: 'channel', integrationName: name, tags: {} },
    });

    const { message } = await bot.client.createMessage({
      ...{ conversationId: conversation.id, userId: bot.id, type: 'text', payload: { text: 'hi' }, tags: {} },
    });
    const [delivery] = await soon(
      () =>
        api.sql<{ status: string; attempts: object[] }>('SELECT * FROM runtime.message_delivery WHERE id = $1', [
          message.id,
        ]),
      ([row]) => row?.status != null,
    );

    expect(delivery).toMatchObject({ status: 'processed', attempts: [{ status: 200 }] });
    expect(runner.callsOf(bot.id, 'message_created')).toHaveLength(13);

    runner.answers['register'] = Array<Answer>(99).fill(ended);
    const headers = { authorization: `Bearer ${api.operatorToken}` };
    void api.send(`POST /operator/admin/bots/${bot.id}/integrations/${name}/register`, { headers, json: {} });
    const failed = await soon(
      async () => (await account.client.getBot({ id: bot.id })).bot.integrations[integrationId],
      (found) => found?.status === 'registration_failed',
    );
    expect(failed).toMatchObject({ statusReason: 'The runner ended before the code answered.' });
    await waitFor(bot.issues, (codes) => codes.includes('integration_registration_failed'));
  });

  it('delivers a message to an integration first that was written before and announced later', async () => {
    const { id: integrationId, name } = await newIntegration();
    const bot = await newBot();
    await account.client.updateBot({ id: bot.id, integrations: { [integrationId]: {} } });
    const { conversation } = await bot.client.createConversation({
      ...{ channel: 'channel', integrationName: name, tags: {} },
    });
    const send = async () =>
      (
        await bot.client.createMessage({
          ...{ conversationId: conversation.id, userId: bot.id, type: 'text', payload: { text: 'hi' }, tags: {} },
        })
      ).message.id;
    const delivered = () =>
      runner
        .callsOf(bot.id, 'message_created')
        .map(({ body }) => (JSON.parse(body) as { message: { id: string } }).message.id);
    const first = await send();
    await waitFor(() => delivered().length === 1);
    const early = newId('msg');
    await api.sql(
      `INSERT INTO chat.message SELECT (jsonb_populate_record(message, jsonb_build_object('id', $2::text, 'created_at', now()))).*
       FROM chat.message WHERE id = $1`,
      [first, early],
    );

    const late = await send();
    const looks = new Set<string>();
    await waitFor(async () => {
      const rows = await api.sql<{ due_at: Date | null }>(
        `UPDATE runtime.work SET created_at = now() - interval '30 seconds' WHERE key = $1 RETURNING due_at`,
        [`${bot.id}/${late}`],
      );
      for (const { due_at } of rows) looks.add(String(due_at?.getTime()));
      return looks.size > 5 || delivered().length > 1;
    });
    await api.publish(messagesOutgoing, {
      botId: bot.id,
      messages: [{ id: early, conversationId: conversation.id }],
    });
    await waitFor(() => delivered().length === 3);

    expect(delivered()).toEqual([first, early, late]);
  });

  it('asks the sender of a webhook to repeat it, without an issue, when the platform could not call it', async () => {
    const { id: integrationId } = await newIntegration();
    const bot = await newBot();
    const { bot: installed } = await account.client.updateBot({ id: bot.id, integrations: { [integrationId]: {} } });
    const path = new URL(installed.integrations[integrationId]!.webhookUrl).pathname;
    runner.answers['webhook_received'] = [notStarted, ended];

    const answers = [await api.send(`POST ${path}`), await api.send(`POST ${path}`), await api.send(`POST ${path}`)];

    expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
      [503, '1'],
      [504, undefined],
      [200, undefined],
    ]);
    expect(await bot.issues()).toEqual([]);
  });
});

it('answers the caller of an action with an error that tells whether to repeat it', async () => {
  const { id } = await newBot({ actions: { try: { input: anything, output: anything } } });
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': id };
  const call = async () => {
    const answer = await api.send('POST /v1/chat/actions', { headers, json: { type: 'try', input: {} } });
    return `${answer.status} ${answer.json.message ?? JSON.stringify(answer.json.output)}`;
  };
  runner.answers['action_triggered'] = [notStarted, ended, fails('busy', 'full'), fails('away', 'gone')];

  expect([await call(), await call(), await call(), await call(), await call()]).toEqual([
    '503 The machine is too busy to start the process of the code.',
    '504 The action "try" may have been done: The runner ended before the code answered.',
    '429 full',
    '503 gone',
    '200 {"is":"done"}',
  ]);
});

it('tells an operator who pings a bot that its process did not get ready', async () => {
  const bot = await newBot();
  runner.answers['ping'] = [notStarted];
  const headers = { authorization: `Bearer ${api.operatorToken}` };

  const { json } = await api.send(`POST /operator/runtime/bots/${bot.id}/ping`, { headers, json: {} });

  expect(json).toMatchObject({ status: null, error: expect.stringContaining('too busy') });
});
