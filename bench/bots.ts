import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import type { Pool } from 'pg';
import { openPool } from './bare-sql';
import { type Conversations, messageRequest, openConversations } from './conversations';
import { HttpConnection } from './http-connection';
import { httpRequest, type LoadResult } from './load';
import { newDatabase, type Operation, productSide, type Recordings, recordOperations, startBare } from './operations';
import { PostgresTap } from './postgres-tap';
import type { Result, Row } from './result';
import { RoundTrips, toUserText } from './round-trips';
import { alternate, compareSpeed, type Round, type Side, timed, toRow } from './rounds';
import { RowCounter, type RowCounts } from './row-counter';
import { SseConnection } from './sse-connection';
import { median } from './statistics';
import { type FrameLatencies, SteadyLoader } from './steady-load';
import { openBare, openEmbedded, poolSize, type Workbench } from './workbench';

type Platform = Awaited<ReturnType<typeof openEmbedded>>;

/** The limits protect against bots that answer each other. Here they would be the result. */
const noLimits = { DELIVERIES_PER_BOT: '64', DELIVERIES_PER_BOT_PER_SECOND: '100000' };
const limitsNote = `Set: ${Object.entries(noLimits)
  .map((pair) => pair.join('='))
  .join(' ')}.`;

const conversationCount = 16;
const warmUpSeconds = 0.5;
const longestRound = 1;
const steady = { perSecond: 20, longestRound: 2, mostRounds: 3 };
const counted = { single: 40, together: 20 };
const events = { count: 2_000, conversations: 200, clients: 16, mostRounds: 2, type: 'bench:happened' };
const settleTimeoutMs = 60_000;

interface Candidate extends Side {
  scene: Conversations;
}

/** Bots with a `url`: round trips, the cost of a delivery in rows and statements, and events per second. */
export async function benchBots(bench: Workbench): Promise<Result[]> {
  const bot = await openBare(bench, 'echo-bot', {});
  const { databaseUrl, scene, recordings, rows } = await record(bench, bot.url);
  const bare = await startBare(bench, 'bare-bots', {
    ...{ databaseUrl, schema: 'chat', recordings },
    bot: { id: scene.botId, url: bot.url },
  });
  const database = await newDatabase(bench);
  const platform = await openEmbedded(bench, { DATABASE_URL: database.url, ...noLimits });
  const pool = keptPool(bench, database.url);
  const echoing = await openConversations(platform, conversationCount);
  await deploy(platform, pool, echoing, await echoUrl(platform, echoing, bot.url));
  const withBot = (side: Side): Side => ({ ...side, layers: { ...side.layers, bot: [bot.pid] } });
  const sides: [Candidate, Candidate] = [
    { ...withBot(productSide(bench, 'runtime', platform)), scene: echoing },
    { ...withBot(bare), scene: { ...scene, path: '', userHeaders: {} } },
  ];
  return [
    await benchRoundTrips(bench, sides),
    await benchLatency(bench, sides),
    rows,
    await benchEvents(bench, platform, pool, bot.url),
  ];
}

/** Url of the bot that answers in this bot's name. */
async function echoUrl(platform: Platform, { botId }: Conversations, botUrl: string): Promise<string> {
  const { value } = await clientOf(platform).createBotApiKey({ botId });
  return `${botUrl}/?${new URLSearchParams({ api: platform.url, key: value }).toString()}`;
}

/** Sets the url and waits until chat has heard of it. */
async function deploy(platform: Platform, pool: Pool, { botId }: Conversations, url: string): Promise<void> {
  await clientOf(platform).updateBot({ id: botId, url });
  await waitFor(async () => {
    const { rows } = await pool.query('SELECT FROM called_bot WHERE bot_id = $1 AND is_called', [botId]);
    return rows.length > 0;
  });
}

function keptPool({ session }: Workbench, databaseUrl: string): Pool {
  const pool = openPool({ databaseUrl, poolSize }, 'chat');
  // Databases are dropped with their connections.
  pool.on('error', () => undefined);
  session.keep({ stop: () => pool.end() });
  return pool;
}

async function benchRoundTrips({ session, options }: Workbench, sides: [Candidate, Candidate]): Promise<Result> {
  const seconds = Math.min(longestRound, options.seconds);
  const ready = await Promise.all(
    sides.map(async ({ url, scene }) => {
      const trips = new RoundTrips();
      const streams = await openStreams(url, scene, trips.onMark);
      const speakers = { url, path: scene.path, headers: scene.userHeaders, ids: scene.ids };
      return { streams, run: (duration: number) => trips.run(speakers, duration) };
    }),
  );
  const measured = await alternate(session, sides, options.rounds, async (side): Promise<LoadResult & Round> => {
    const { run } = ready[sides.indexOf(side)]!;
    await run(warmUpSeconds);
    return timed(side, () => run(seconds));
  });
  ready.forEach(({ streams }) => streams.forEach((stream) => stream.close()));
  return {
    title: `Embedded mode: from a user's message to the answer of a bot with a url; ${conversationCount} conversations, ${options.rounds} rounds of ${seconds} s`,
    rows: sides.map((side, i) =>
      toRow(side, measured[i]!, 'round trip', { 'p50 ms': ({ p50Ms }) => p50Ms, 'p99 ms': ({ p99Ms }) => p99Ms }),
    ),
    aims: compareSpeed({ name: 'embedded / bare', atLeast: 0.5 }, measured[0]!, measured[1]!),
    notes: [
      limitsNote,
      'Message at the chat endpoint, event at the bot, message of the bot by the API, frame at the listener.',
      'Bare: one process that runs the SQL of both messages and settles the event, without a queue and a bus.',
    ],
    errors: errorsOf(sides, measured),
    rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
  };
}

async function benchLatency({ session, options }: Workbench, sides: [Candidate, Candidate]): Promise<Result> {
  const seconds = Math.min(steady.longestRound, options.seconds);
  const rounds = Math.min(steady.mostRounds, options.rounds);
  const ready = await Promise.all(
    sides.map(async ({ url, scene }) => {
      const { ids, path, userHeaders } = scene;
      const loader = new SteadyLoader();
      const streams = await openStreams(url, scene, loader.onFrame);
      const request = (number: number) =>
        messageRequest(path, userHeaders, ids[number % ids.length]!, toUserText(number));
      const load = { url, connections: conversationCount, perSecond: steady.perSecond, request, listeners: 1 };
      return { streams, run: (duration: number) => loader.run({ ...load, seconds: duration }) };
    }),
  );
  const measured = await alternate(session, sides, rounds, async (side): Promise<FrameLatencies & Round> => {
    const { run } = ready[sides.indexOf(side)]!;
    await run(warmUpSeconds);
    return timed(side, () => run(seconds));
  });
  ready.forEach(({ streams }) => streams.forEach((stream) => stream.close()));
  const [product] = measured as [(FrameLatencies & Round)[], unknown];
  const aim = (name: string, below: number, of: (round: FrameLatencies) => number) => {
    const values = product.map(of);
    const spread: [number, number] = [Math.min(...values), Math.max(...values)];
    return { name, value: median(values), spread, unit: ' ms', below };
  };
  return {
    title: `Embedded mode: the same, ${steady.perSecond} messages a second; ${rounds} rounds of ${seconds} s`,
    rows: sides.map((side, i) =>
      toRow(side, measured[i]!, 'answer', {
        'p50 ms': ({ p50Ms }) => p50Ms,
        'p95 ms': ({ p95Ms }) => p95Ms,
        'sent late p95 ms': ({ lateMs }) => lateMs,
      }),
    ),
    aims: [aim('p50 of an answer', 25, ({ p50Ms }) => p50Ms), aim('p95 of an answer', 60, ({ p95Ms }) => p95Ms)],
    notes: ['Measured from the time at which the message was due until the answer was read.'],
    errors: errorsOf(sides, measured),
    rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
  };
}

function errorsOf(sides: Side[], measured: { firstError?: string }[][]): string[] {
  return sides.flatMap(({ name }, i) =>
    measured[i]!.flatMap(({ firstError }) => (firstError ? [`${name}: ${firstError}`] : [])),
  );
}

function openStreams(
  url: string,
  { path, userHeaders, ids }: Conversations,
  onMark: (number: number) => void,
): Promise<SseConnection[]> {
  return Promise.all(
    ids.map((id) => SseConnection.open(url, `${path}/conversations/${id}/listen`, userHeaders, onMark)),
  );
}

/** Records the SQL of both messages, and counts the rows of messages with and without a delivery. */
async function record(
  bench: Workbench,
  botUrl: string,
): Promise<{ databaseUrl: string; scene: Conversations; recordings: Recordings; rows: Result }> {
  const database = await newDatabase(bench);
  const tap = bench.session.keep(await PostgresTap.start(database.url));
  const platform = await openEmbedded(bench, { DATABASE_URL: tap.url, ...noLimits });
  const pool = keptPool(bench, database.url);
  try {
    const scene = await openConversations(platform, conversationCount);
    const recordings = await recordOperations(tap, platform.url, operationsOf(scene));
    const silent = await openConversations(platform, conversationCount);
    await deploy(platform, pool, silent, botUrl);
    const counter = await RowCounter.start(pool);
    const rows = await countRows({ platform, pool, tap, counter }, { 'without url': scene, 'with url': silent });
    await counter.stop();
    return { databaseUrl: database.url, scene, recordings, rows };
  } finally {
    await platform.stop();
  }
}

function operationsOf({ botId, path, headers, userHeaders, ids }: Conversations): Operation[] {
  const text = toUserText(0);
  const shared = { title: '', given: (index: number) => ids[index]!, connections: 1 };
  return [
    {
      ...shared,
      name: 'say',
      line: () => `POST ${path}/messages`,
      headers: userHeaders,
      body: (conversationId) => ({ conversationId, payload: { type: 'text', text } }),
    },
    {
      ...shared,
      name: 'reply',
      line: () => 'POST /v1/chat/messages',
      headers,
      body: (conversationId) => ({ userId: botId, conversationId, type: 'text', payload: { text }, tags: {} }),
    },
  ];
}

interface Counting {
  platform: Platform;
  pool: Pool;
  tap: PostgresTap;
  counter: RowCounter;
}

async function countRows(counting: Counting, bots: Record<string, Conversations>): Promise<Result> {
  const rows: Row[] = [];
  const perTable: object[] = [];
  for (const [name, scene] of Object.entries(bots)) {
    const single = { name: `bot ${name}, one message at a time`, ids: scene.ids.slice(0, 1), each: counted.single };
    const together = { name: `bot ${name}, ${conversationCount} at a time`, ids: scene.ids, each: counted.together };
    for (const { name, ids, each } of [single, together]) {
      await say(counting, scene, ids, 1);
      const before = { rows: await counting.counter.read(), statements: counting.tap.count };
      await say(counting, scene, ids, each);
      const messages = ids.length * each;
      const statements = (counting.tap.count - before.statements) / messages;
      const written = perMessage(before.rows, await counting.counter.read(), messages);
      const of = (kind: string) =>
        Object.entries(written).reduce((total, [key, count]) => total + (key.endsWith(kind) ? count : 0), 0);
      const figures = { inserted: of('INSERT'), updated: of('UPDATE'), deleted: of('DELETE'), statements };
      rows.push({ name, figures });
      perTable.push({ name, ...written });
    }
  }
  return {
    title: "Embedded mode: rows written and statements sent for a user's message",
    rows,
    aims: [],
    notes: [
      'Until the event is settled; the bot does not answer with a message. Rows of all schemas, counted by triggers.',
      'Statements include BEGIN, COMMIT and those of background work in that time.',
    ],
    errors: [],
    rounds: { perTable },
  };
}

/** Each conversation says its messages one after the other. Alone, a message waits until the previous one is settled. */
async function say({ platform, pool }: Counting, scene: Conversations, ids: string[], each: number): Promise<void> {
  await Promise.all(
    ids.map(async (id) => {
      const connection = await HttpConnection.open(platform.url);
      for (let number = 0; number < each; number++) {
        await connection.send(messageRequest(scene.path, scene.userHeaders, id, toUserText(number)));
        if (ids.length === 1) await untilSettled(pool);
      }
      connection.close();
    }),
  );
  await untilSettled(pool);
}

/** Waits until nothing is announced or waits for its delivery. */
async function untilSettled(pool: Pool): Promise<void> {
  const isSettled = async () => {
    const { rows } = await pool.query<{ count: number }>(
      `SELECT ((SELECT count(*) FROM chat.outbox WHERE published_at IS NULL)
         + (SELECT count(*) FROM runtime.outbox WHERE published_at IS NULL)
         + (SELECT count(*) FROM runtime.work) + (SELECT count(*) FROM events.work))::int AS count`,
    );
    return rows[0]!.count === 0;
  };
  await waitFor(isSettled);
}

function perMessage(before: RowCounts, after: RowCounts, messages: number): RowCounts {
  const entries = Object.entries(after).map(([key, count]) => [key, (count - (before[key] ?? 0)) / messages] as const);
  return Object.fromEntries(entries.filter(([, count]) => count > 0));
}

/** Events per second of a bot that answers at once. */
async function benchEvents(bench: Workbench, platform: Platform, pool: Pool, botUrl: string): Promise<Result> {
  const scene = await openConversations(platform, events.conversations);
  await deploy(platform, pool, scene, botUrl);
  const rounds = Math.min(events.mostRounds, bench.options.rounds);
  const side: Side = { ...productSide(bench, 'runtime', platform), name: 'bot that answers at once' };
  const measured: (Round & { createdPerSecond: number })[] = [];
  for (let round = 0; round < rounds; round++) {
    bench.session.checkpoint();
    measured.push(await timed(side, () => settleEvents(platform, pool, scene, round)));
  }
  return {
    title: `Embedded mode: ${events.count.toLocaleString('en-US')} events of ${events.conversations} conversations, created by ${events.clients} clients and delivered; ${rounds} rounds`,
    rows: [toRow(side, measured, 'event', { 'created/s': ({ createdPerSecond }) => createdPerSecond })],
    aims: [],
    notes: [limitsNote, 'From the first POST /v1/chat/events until the last event is settled.'],
    errors: [],
    rounds: { [side.name]: measured },
  };
}

async function settleEvents(platform: Platform, pool: Pool, { botId, ids, headers }: Conversations, round: number) {
  const { count, clients, type } = events;
  const start = performance.now();
  const numbers = Array.from({ length: count }, (_, number) => number).values();
  const client = async () => {
    const connection = await HttpConnection.open(platform.url);
    for (const number of numbers) {
      const body = JSON.stringify({ type, payload: { number }, conversationId: ids[number % ids.length] });
      const status = await connection.send(httpRequest('POST /v1/chat/events', headers, body));
      if (status > 299) throw new Error(`POST /v1/chat/events answered ${status}.`);
    }
    connection.close();
  };
  await Promise.all(Array.from({ length: clients }, client));
  const createdMs = performance.now() - start;
  const statuses = await waitFor(
    async () => {
      const { rows } = await pool.query<{ status: string; count: number }>(
        'SELECT status, count(*)::int AS count FROM event WHERE bot_id = $1 AND type = $2 GROUP BY status',
        [botId, type],
      );
      return Object.fromEntries(rows.map(({ status, count }) => [status, count]));
    },
    ({ pending = 0 }) => pending === 0,
    settleTimeoutMs,
  );
  const elapsedMs = performance.now() - start;
  if (statuses['processed'] !== count * (round + 1))
    throw new Error(`Not all events were processed: ${JSON.stringify(statuses)}.`);
  return { count, perSecond: (1000 * count) / elapsedMs, createdPerSecond: (1000 * count) / createdMs };
}
