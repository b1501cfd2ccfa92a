// Takes more than 10 s: a fleet of its own, and a killed runner is missed after 8 s.
import type { Client } from '@botpress/client';
import { maxCodePartBytes } from '@parley/contracts/runner/code';
import type { Deliveries, DeliveryStatus } from '@parley/contracts/runtime/deliveries';
import { operatorToken } from '@parley/secrets/token';
import { clientOf } from '@parley/testing/api';
import { hasNatsServer } from '@parley/testing/nats-server';
import { waitFor } from '@parley/testing/wait-for';
import { Fleet } from './fleet';
import { RowLock } from './row-lock';

const webhooks = Number(process.env['WEBHOOKS'] ?? 200);
const deployments = Number(process.env['DEPLOYMENTS'] ?? 8);
const awayMs = Number(process.env['RUNNER_AWAY_MS'] ?? 0);
/** Rows of deleted bots are looked for once more after 270 s. */
const erasureMs = Number(process.env['ERASURE_MS'] ?? 0);

jest.setTimeout(180_000 + webhooks * 300 + deployments * 2_000 + awayMs + erasureMs);
const settledWithinMs = 90_000;
/** Long enough for all webhooks on a busy machine. */
const sentWithinMs = settledWithinMs + webhooks * 300;
const handlingMs = 200;

/** Code that tells its process, and handles each event for a while. */
const codeOf = (version: number) => `
  console.log('process ' + process.pid);
  exports.handler = async ({ headers }) => {
    if (headers['x-bp-operation'] === 'event_received') await new Promise((resolve) => setTimeout(resolve, ${handlingMs}));
    return { status: 200, body: '${version}' };
  };`;

(hasNatsServer() ? describe : describe.skip)('Calls of code', () => {
  let fleet: Fleet;

  beforeAll(async () => {
    fleet = await Fleet.start({
      replicasOf: { runtime: 2, runner: 2, 'files-worker': 0, tables: 0, models: 0 },
      env: { RUNNER_ISOLATION: 'process' },
    });
  });

  afterEach(() => RowLock.releaseAll());
  afterAll(() => fleet?.stop());

  async function newBot() {
    const { id } = (await clientOf(fleet).createBot({ code: codeOf(0) })).bot;
    return { id, client: clientOf(fleet, id) };
  }

  async function send(client: Client, count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => client.createEvent({ type: 'happened', payload: {} })));
  }

  async function statuses(client: Client): Promise<Record<string, number>> {
    const events = await client.list.events({}).collect();
    const counts: Record<string, number> = {};
    for (const { status } of events) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  const allProcessed = (client: Client, count: number) =>
    waitFor(
      () => statuses(client),
      ({ processed }) => processed === count,
      settledWithinMs,
    );

  const handled = (client: Client, count: number) =>
    waitFor(
      () => statuses(client),
      ({ processed = 0 }) => processed >= count,
      settledWithinMs,
    );

  async function asOperator<T>(path: string): Promise<T> {
    const headers = { authorization: `Bearer ${operatorToken(fleet.secretKey)}` };
    return (await (await fetch(`${fleet.url}/operator/runtime/bots/${path}`, { headers })).json()) as T;
  }

  /** First page. */
  const deliveriesOf = async (botId: string, status: DeliveryStatus) =>
    (await asOperator<Deliveries>(`${botId}/deliveries?status=${status}`)).deliveries;

  /** Processes of the code until now, by its log. */
  async function processesOf(botId: string): Promise<number[]> {
    const timeStart = new Date(Date.now() - 600_000).toISOString();
    const { logs } = await clientOf(fleet).getBotLogs({ id: botId, timeStart, messageContains: 'process ' });
    return logs.map(({ message }) => Number(message.split(' ')[1]));
  }

  it('handles all of 200 events although the process, then the runner is killed under them', async () => {
    const { id, client } = await newBot();
    await send(client, 200);
    await handled(client, 10);

    const [pid] = await waitFor(
      () => processesOf(id),
      ({ length }) => length > 0,
    );
    process.kill(pid!, 'SIGKILL');
    await handled(client, 40);
    // One of both has the bot: the other one takes over.
    const [first, second] = fleet.replicas('runner');
    await first!.end('SIGKILL');
    await handled(client, 80);
    await first!.start();
    await second!.end('SIGKILL');

    expect(await allProcessed(client, 200)).toEqual({ processed: 200 });
    expect((await processesOf(id)).length).toBeGreaterThan(2);
    await second!.start();
  });

  it('handles an event once although all runtimes are killed between two parts of its code', async () => {
    const handler = `exports.handler = ({ headers }) => {
      if (headers['x-bp-operation'] === 'event_received') console.log('process ' + process.pid);
      return { status: 200 };
    };`;
    const code = `${handler} // ${'x'.repeat(maxCodePartBytes)}`;
    const { id } = (await clientOf(fleet).createBot({ code })).bot;
    const client = clientOf(fleet, id);
    await send(client, 1);
    await allProcessed(client, 1);
    // The line would be lost with the runner.
    await waitFor(
      () => processesOf(id),
      ({ length }) => length === 1,
    );
    const ofFirstPart = await RowLock.ofAll(fleet.databaseUrl, 'admin.bot_code');
    const runners = fleet.replicas('runner');
    await Promise.all(runners.map((runner) => runner.end('SIGKILL')));
    await Promise.all(runners.map((runner) => runner.start()));

    await send(client, 1);
    await ofFirstPart.awaited(1);
    // Waits behind the first part, and before the second one.
    const locking = RowLock.ofAll(fleet.databaseUrl, 'admin.bot_code');
    await ofFirstPart.awaited(2);
    await ofFirstPart.release();
    const ofSecondPart = await locking;
    await ofSecondPart.awaited(1);
    const runtimes = fleet.replicas('runtime');
    await Promise.all(runtimes.map((runtime) => runtime.end('SIGKILL')));
    await ofSecondPart.release();
    await Promise.all(runtimes.map((runtime) => runtime.start()));

    expect(await allProcessed(client, 2)).toEqual({ processed: 2 });
    expect(
      await waitFor(
        () => processesOf(id),
        ({ length }) => length >= 2,
      ),
    ).toHaveLength(2);
  });

  it('handles an event under which all runners are stopped three times, without counting attempts', async () => {
    const code = (handling: string) => `exports.handler = async ({ headers }) => {
      if (headers['x-bp-operation'] !== 'event_received') return { status: 200 };
      console.log('attempt ' + headers['x-bp-attempt']);
      ${handling}
      return { status: 200 };
    };`;
    const { id } = (
      await clientOf(fleet).createBot({ code: code('await new Promise(() => setInterval(() => {}, 1e6))') })
    ).bot;
    const client = clientOf(fleet, id);
    const runners = fleet.replicas('runner');
    const timeStart = new Date(Date.now() - 600_000).toISOString();
    const attempts = async () =>
      (await clientOf(fleet).getBotLogs({ id, timeStart, messageContains: 'attempt ' })).logs.map(
        ({ message }) => message,
      );

    await send(client, 1);
    for (let stops = 1; stops <= 3; stops += 1) {
      await waitFor(attempts, ({ length }) => length === stops, settledWithinMs);
      await Promise.all(runners.map((runner) => runner.end('SIGTERM')));
      // No runner can check the code.
      if (stops === 3) await clientOf(fleet).updateBot({ id, code: code('') });
      await Promise.all(runners.map((runner) => runner.start()));
    }

    expect(await allProcessed(client, 1)).toEqual({ processed: 1 });
    expect(await waitFor(attempts, ({ length }) => length === 4)).toEqual(Array(4).fill('attempt 1'));
    const [delivery] = await deliveriesOf(id, 'processed');
    expect(delivery!.attempts).toHaveLength(1);
  });

  it('delays calls while no runner exists, and continues when one comes back', async () => {
    const { id, client } = await newBot();
    await send(client, 5);
    await allProcessed(client, 5);
    const runners = fleet.replicas('runner');
    await Promise.all(runners.map((runner) => runner.end('SIGKILL')));
    const endedAt = performance.now();

    await send(client, 50);
    await waitFor(
      () => deliveriesOf(id, 'parked'),
      (parked) => parked.length === 20,
    );
    await waitFor(() => performance.now() - endedAt >= awayMs, Boolean, awayMs + settledWithinMs);
    expect(await statuses(client)).toMatchObject({ pending: 50 });
    await Promise.all(runners.map((runner) => runner.start()));

    expect(await allProcessed(client, 55)).toEqual({ processed: 55 });
  });

  it(`handles events while the bot is deployed ${deployments} times`, async () => {
    const { id, client } = await newBot();
    const sending = (async () => {
      for (let round = 0; round < deployments; round += 1) await send(client, 10);
    })();

    for (let version = 1; version <= deployments; version += 1)
      await clientOf(fleet).updateBot({ id, code: codeOf(version) });
    await sending;

    expect(await allProcessed(client, 10 * deployments)).toEqual({ processed: 10 * deployments });
  });

  it('ends calls of a deleted bot, and continues those of another bot', async () => {
    const [gone, other] = [await newBot(), await newBot()];
    await Promise.all([send(gone.client, 100), send(other.client, 100)]);
    await handled(gone.client, 10);

    await clientOf(fleet).deleteBot({ id: gone.id });

    await expect(gone.client.listEvents({})).rejects.toMatchObject({ isApiError: true });
    expect(await allProcessed(other.client, 100)).toEqual({ processed: 100 });
    for (const status of ['pending', 'parked'] as const)
      await waitFor(
        () => deliveriesOf(gone.id, status),
        ({ length }) => length === 0,
        settledWithinMs,
      );
    if (erasureMs === 0) return;
    const leftovers = () => asOperator<Record<string, number>>(`${gone.id}/leftovers`);
    await waitFor(leftovers, (counts) => Object.values(counts).every((count) => count === 0), erasureMs);
  });

  it('handles each webhook that was answered, although runners are killed under them', async () => {
    const { id: integrationId } = (
      await clientOf(fleet).createIntegration({
        ...{ name: 'counting', version: '1.0.0', events: { hit: { schema: {} } } },
        code: `
          exports.handler = async ({ headers, body }) => {
            if (headers['x-bp-operation'] !== 'webhook_received') return { status: 200 };
            const names = ['x-bot-id', 'x-integration-id', 'x-integration-alias'];
            const own = Object.fromEntries(names.map((name) => [name, headers[name]]));
            const answer = await fetch(process.env.BP_API_URL + '/v1/chat/events', { method: 'POST',
              headers: { ...own, 'content-type': 'application/json', authorization: 'Bearer ' + process.env.BP_TOKEN },
              body: JSON.stringify({ type: 'hit', payload: { n: JSON.parse(body).req.body } }) });
            return { status: answer.ok ? 200 : 500 };
          };`,
      })
    ).integration;
    const { id } = (await clientOf(fleet).createBot({})).bot;
    const { bot } = await clientOf(fleet).updateBot({ id, integrations: { [integrationId]: {} } });
    const { webhookUrl, status } = bot.integrations[integrationId]!;
    expect(status).toBe('registered');
    const path = new URL(webhookUrl).pathname;
    const answered: string[] = [];
    const refused: Record<number, number> = {};
    let sent = 0;
    const send = async (): Promise<void> => {
      for (let n = (sent += 1); n <= webhooks; n = sent += 1) {
        const response = await fetch(`${fleet.url}${path}`, { method: 'POST', body: String(n) });
        if (response.status === 200) answered.push(String(n));
        else refused[response.status] = (refused[response.status] ?? 0) + 1;
      }
    };
    const sending = Promise.all(Array.from({ length: 20 }, send));
    const [first, second] = fleet.replicas('runner');

    await waitFor(() => answered.length > webhooks * 0.2, Boolean, sentWithinMs);
    await first!.end('SIGKILL');
    await waitFor(() => answered.length > webhooks * 0.4, Boolean, sentWithinMs);
    await first!.start();
    await second!.end('SIGKILL');
    await sending;

    const events = await clientOf(fleet, id).list.events({}).collect();
    const handledOnes = new Set(events.map(({ payload }) => payload['n']));
    if (webhooks > 200)
      process.stdout.write(
        `${JSON.stringify({ webhooks, answered: answered.length, refused, handled: handledOnes.size })}\n`,
      );
    expect(answered.filter((n) => !handledOnes.has(n))).toEqual([]);
    expect(answered.length).toBeGreaterThan(webhooks * 0.8);
    await second!.start();
  });
});
