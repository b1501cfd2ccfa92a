import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { clientOf } from '@parley/testing/api';
import { latencyFigures, openStreams } from './answers';
import { deploy, keptPool } from './deployment';
import { addingCode, bundleEcho, relayCode } from './code-sources';
import { messageRequest, openConversations } from './conversations';
import { HttpConnection } from './http-connection';
import { httpRequest, runLoad } from './load';
import { newDatabase, productSide } from './operations';
import type { Result } from './result';
import { toReplyText, toUserText } from './round-trips';
import { latencyAims, timed, toRow } from './rounds';
import { percentile } from './statistics';
import { type FrameLatencies, SteadyLoader } from './steady-load';
import { openBot, openEmbedded, type Workbench } from './workbench';

type Platform = Awaited<ReturnType<typeof openEmbedded>>;

const coldBotsOfRound = 4;
const answerTimeoutMs = 30_000;
const webhooks = { perSecond: 20, connections: 16, rooms: 16 };
const schema = (properties: object) => ({ type: 'object', properties });

/** Time until the answer of code whose process does not run yet. */
export async function benchColdCode(bench: Workbench): Promise<Result[]> {
  const database = await newDatabase(bench);
  const platform = await openEmbedded(bench, { DATABASE_URL: database.url });
  const pool = keptPool(bench, database.url);
  const code = await bundleEcho();
  const rounds: { p50Ms: number; p95Ms: number }[] = [];
  for (let round = -1; round < bench.options.rounds; round++) {
    const took: number[] = [];
    for (let bot = 0; bot < coldBotsOfRound; bot++) {
      bench.session.checkpoint();
      const scene = await openConversations(platform, 1);
      await deploy(platform, pool, scene, { code });
      took.push(await firstAnswerMs(platform, scene));
    }
    if (round >= 0) rounds.push({ p50Ms: percentile(took, 0.5), p95Ms: percentile(took, 0.95) });
  }
  return [
    {
      title: `Embedded mode: the first message to a bot with 1 MB of code; ${coldBotsOfRound} bots one after the other, ${rounds.length} rounds`,
      rows: [],
      aims: latencyAims('the first answer', { p50Ms: 500 }, rounds),
      notes: ['A process starts and loads the published SDK. From the message until the answer was read.'],
      errors: [],
      rounds: { cold: rounds },
    },
  ];
}

async function firstAnswerMs({ url }: Platform, scene: Awaited<ReturnType<typeof openConversations>>): Promise<number> {
  const connection = await HttpConnection.open(url);
  let timer: NodeJS.Timeout | undefined;
  let hear: () => void = () => undefined;
  const [stream] = await openStreams(url, scene, () => hear());
  const start = performance.now();
  const heard = new Promise<void>((resolve, reject) => {
    hear = resolve;
    timer = setTimeout(() => reject(new Error(`No answer within ${answerTimeoutMs} ms.`)), answerTimeoutMs);
  });
  await connection.send(messageRequest(scene.path, scene.userHeaders, scene.ids[0]!, toUserText(1)));
  await heard;
  const tookMs = performance.now() - start;
  clearTimeout(timer);
  stream!.close();
  connection.close();
  return tookMs;
}

/** Time of an action of an integration that is code, one call at a time. */
export async function benchActionOfCode(bench: Workbench): Promise<Result[]> {
  const { options, session } = bench;
  const platform = await openEmbedded(bench);
  const { id, headers } = await openBot(platform);
  const numbers = schema({ a: { type: 'number' }, b: { type: 'number' } });
  const { integration } = await clientOf(platform).createIntegration({
    ...{ name: 'adding', version: '1.0.0', code: addingCode },
    actions: { add: { input: { schema: numbers }, output: { schema: schema({ sum: { type: 'number' } }) } } },
  });
  await clientOf(platform).updateBot({ id, integrations: { adding: { integrationId: integration.id } } });
  const body = JSON.stringify({ type: 'adding:add', input: { a: 1, b: 2 } });
  const request = httpRequest('POST /v1/chat/actions', headers, body);
  const run = (seconds: number) => runLoad({ url: platform.url, next: () => request, connections: 1, seconds });
  const side = productSide(bench, 'runtime', platform);
  const rounds = [];
  await run(1);
  for (let round = 0; round < options.rounds; round++) {
    session.checkpoint();
    rounds.push(await timed(side, () => run(options.seconds)));
  }
  const p50s = rounds.map(({ p50Ms, p99Ms }) => ({ p50Ms, p95Ms: p99Ms }));
  return [
    {
      title: `Embedded mode: callAction of an integration that is code, one at a time; ${options.rounds} rounds of ${options.seconds} s`,
      rows: [toRow(side, rounds, 'action', { 'p50 ms': ({ p50Ms }) => p50Ms, 'p99 ms': ({ p99Ms }) => p99Ms })],
      aims: latencyAims('an action', { p50Ms: 15 }, p50s).slice(0, 1),
      notes: ['The process of the code is warm. The action adds two numbers, without the SDK.'],
      errors: rounds.flatMap(({ firstError }) => firstError ?? []),
      rounds: { [side.name]: rounds },
    },
  ];
}

/** Time from a webhook to the answer of the bot at the service that sent it. */
export async function benchWebhooksOfCode(bench: Workbench): Promise<Result[]> {
  const { options, session } = bench;
  const database = await newDatabase(bench);
  const platform = await openEmbedded(bench, {
    ...{ DATABASE_URL: database.url, RUNNER_ALLOW_PRIVATE: 'true', RATE_LIMIT_PER_SECOND: '0' },
  });
  const loader = new SteadyLoader();
  const service = session.keep(await Service.start(loader.onFrame));
  const webhookPath = await openRelay(bench, platform, database.url, service.url);
  const request = (number: number) => {
    const body = JSON.stringify({ room: `room-${number % webhooks.rooms}`, text: toUserText(number) });
    return httpRequest(`POST ${webhookPath}`, {}, body);
  };
  const { connections, perSecond } = webhooks;
  const run = (seconds: number) =>
    loader.run({ url: platform.url, connections, perSecond, request, listeners: 1, seconds });
  const side = productSide(bench, 'runtime', platform);
  const rounds = [];
  await run(2);
  for (let round = 0; round < options.rounds; round++) {
    session.checkpoint();
    rounds.push(await timed(side, (): Promise<FrameLatencies> => run(options.seconds)));
  }
  return [
    {
      title: `Embedded mode: from a webhook to the bot and its answer at the service, ${perSecond} a second; ${options.rounds} rounds of ${options.seconds} s`,
      rows: [toRow(side, rounds, 'webhook', latencyFigures)],
      aims: latencyAims('the way from webhook to answer', {}, rounds),
      notes: [
        'The integration gets user and conversation and creates the message; the bot answers; the integration posts the answer.',
        'Measured from the time at which the webhook was due. Bot with the SDK, integration without.',
      ],
      errors: rounds.flatMap(({ firstError }) => firstError ?? []),
      rounds: { [side.name]: rounds },
    },
  ];
}

/** Bot that echoes, with an integration that relays to the service. Returns the path of its webhook. */
async function openRelay(
  bench: Workbench,
  platform: Platform,
  databaseUrl: string,
  serviceUrl: string,
): Promise<string> {
  const { id } = await openBot(platform);
  const tags = { id: {} };
  const { integration } = await clientOf(platform).createIntegration({
    ...{ name: 'relay', version: '1.0.0', code: relayCode(serviceUrl), user: { tags } },
    channels: { channel: { messages: { text: { schema: {} } }, conversation: { tags }, message: { tags } } },
  });
  const integrations = { relay: { integrationId: integration.id } };
  const { bot } = await clientOf(platform).updateBot({ id, integrations });
  await deploy(platform, keptPool(bench, databaseUrl), { botId: id }, { code: await bundleEcho() });
  const { webhookUrl } = Object.values(bot.integrations).find(({ name }) => name === integration.name)!;
  return new URL(webhookUrl).pathname;
}

/** Service that gets the messages of the bot. */
class Service {
  private constructor(private readonly server: Server) {}

  static async start(onNumber: (number: number) => void): Promise<Service> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { text = '' } = JSON.parse(Buffer.concat(chunks).toString()) as { text?: string };
        const [, number] = /@(\d+)@/.exec(toReplyText(text)) ?? [];
        if (number) onNumber(Number(number));
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Service(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}
