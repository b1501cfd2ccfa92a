import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import type { Pool } from 'pg';
import { benchLatency, benchRoundTrips, type Candidate, conversationCount, limitsNote, noLimits } from './answers';
import { type AnswerRecordings, recordAnswers, startBareAnswers } from './bare-answers';
import { type Conversations, messageRequest, openConversations } from './conversations';
import { deploy, keptPool } from './deployment';
import { HttpConnection } from './http-connection';
import { httpRequest } from './load';
import { newDatabase, productSide } from './operations';
import type { Result, Row } from './result';
import { toUserText } from './round-trips';
import { type Round, type Side, timed, toRow } from './rounds';
import { RowCounter, type RowCounts } from './row-counter';
import { openBare, openEmbedded, type Workbench } from './workbench';
import { onTappedPlatform, type Tapped } from './tapped-platform';

type Platform = Awaited<ReturnType<typeof openEmbedded>>;

const counted = { single: 40, together: 20 };
const events = { count: 2_000, conversations: 200, clients: 16, mostRounds: 2, type: 'bench:happened' };
const settleTimeoutMs = 60_000;

/** Bots with a `url`: round trips, the cost of a delivery in rows and statements, and events per second. */
export async function benchBots(bench: Workbench): Promise<Result[]> {
  const bot = await openBare(bench, 'echo-bot', {});
  const { databaseUrl, answers, rows } = await record(bench, bot.url);
  const bare = await startBareAnswers(bench, databaseUrl, answers, { url: bot.url });
  const database = await newDatabase(bench);
  const platform = await openEmbedded(bench, { DATABASE_URL: database.url, ...noLimits });
  const pool = keptPool(bench, database.url);
  const echoing = await openConversations(platform, conversationCount);
  await deploy(platform, pool, echoing, { url: await echoUrl(platform, echoing, bot.url) });
  const product: Candidate = { ...productSide(bench, 'runtime', platform), scene: echoing };
  const sides = [product, ...bare].map((side): Candidate => ({
    ...side,
    layers: { ...side.layers, bot: [bot.pid] },
  }));
  return [
    await benchRoundTrips(bench, sides, { mode: 'Embedded', kind: 'a url', atLeast: 0.5 }),
    await benchLatency(bench, sides, 'a url'),
    rows,
    await benchEvents(bench, platform, pool, bot.url),
  ];
}

/** Url of the bot that answers in this bot's name. */
async function echoUrl(platform: Platform, { botId }: Conversations, botUrl: string): Promise<string> {
  const { value } = await clientOf(platform).createBotApiKey({ botId });
  return `${botUrl}/?${new URLSearchParams({ api: platform.url, key: value }).toString()}`;
}

/** Records the SQL of both messages, and counts the rows of messages with and without a delivery. */
async function record(
  bench: Workbench,
  botUrl: string,
): Promise<{ databaseUrl: string; answers: AnswerRecordings; rows: Result }> {
  const database = await newDatabase(bench);
  const pool = keptPool(bench, database.url);
  const record = async ({ platform, tap }: Tapped) => {
    const answers = await recordAnswers({ platform, tap }, pool);
    const { scene } = answers.direct;
    const silent = await openConversations(platform, conversationCount);
    await deploy(platform, pool, silent, { url: botUrl });
    const counter = await RowCounter.start(pool);
    const rows = await countRows({ platform, pool, tap, counter }, { 'without url': scene, 'with url': silent });
    await counter.stop();
    return { databaseUrl: database.url, answers, rows };
  };
  return onTappedPlatform(bench, database.url, record, noLimits);
}

interface Counting extends Tapped {
  pool: Pool;
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
  await deploy(platform, pool, scene, { url: botUrl });
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
