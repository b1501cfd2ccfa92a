import { setTimeout as sleep } from 'node:timers/promises';
import { startDistributed } from '@parley/testing/running-platform';
import { type Conversations, openConversations, openListeners, messageRequest } from './conversations';
import { residentMb } from './memory';
import { newDatabase, productSide, type Recordings, recordOperations, startBare } from './operations';
import type { Result, Row } from './result';
import { type Round, type Side, alternate, timed, toRow } from './rounds';
import { SseConnection, markOf } from './sse-connection';
import { median, pairedRatio } from './statistics';
import { type FrameLatencies, SteadyLoader } from './steady-load';
import { newLogFile, openEmbedded, productEnv, type Workbench } from './workbench';
import { onTappedPlatform } from './tapped-platform';

type Mode = 'Embedded' | 'Distributed';
type Platform = Awaited<ReturnType<typeof openEmbedded>> & { nats?: { pid: number } };
type FrameRound = FrameLatencies & Round;

const idleStreams = 2_000;
/** A bot may have 5 % of all streams. */
const manyStreams = { LISTEN_MAX_STREAMS: '100000' };
/** Enough connections that one is idle whenever a message is due. */
const connections = 64;
const longestRound = 2;
const warmUpSeconds = 0.5;
const openersAtOnce = 32;
/** Time for the effects of starting, opening and closing streams to end. */
const settleMs = 3_000;

interface Scenario {
  title: string;
  conversations: number;
  listeners: number;
  perSecond: number;
  /** Aim for p95 in distributed mode. */
  belowMs?: number;
}

const scenarios: Scenario[] = [
  {
    title: '1,000 listeners of 1,000 conversations',
    conversations: 1_000,
    listeners: 1,
    perSecond: 200,
    belowMs: 28,
  },
  // 200 messages per second would be 40,000 frames, more than one core writes and another reads.
  { title: '200 listeners of one conversation', conversations: 1, listeners: 200, perSecond: 20 },
];

interface Candidate extends Side {
  scene: Conversations;
}

/** Latency from a message to its listeners, and the memory of idle streams. */
export function benchListenEmbedded(bench: Workbench): Promise<Result[]> {
  return benchListen(bench, 'Embedded', () => openEmbedded(bench, manyStreams));
}

export function benchListenDistributed(bench: Workbench): Promise<Result[]> {
  const options = { env: { ...productEnv(bench), ...manyStreams }, logFile: newLogFile(bench) };
  return benchListen(bench, 'Distributed', async () => bench.session.keep(await startDistributed(options)));
}

async function benchListen(bench: Workbench, mode: Mode, start: () => Promise<Platform>): Promise<Result[]> {
  const bare = await startBareSide(bench);
  const platform = await start();
  const scene = await openConversations(platform, idleStreams);
  const product = { ...productSide(bench, 'chat', platform), scene };
  const memory = await measureMemory(bench, mode, platform, product);
  const results: Result[] = [];
  for (const scenario of scenarios) results.push(await compare(bench, mode, scenario, [product, bare]));
  return [...results, memory];
}

async function compare(
  { session, options }: Workbench,
  mode: Mode,
  { title, conversations, listeners, perSecond, belowMs }: Scenario,
  sides: [Candidate, Candidate],
): Promise<Result> {
  const { rounds } = options;
  const seconds = Math.min(longestRound, options.seconds);
  const ready = await Promise.all(
    sides.map(async ({ url, scene }) => {
      const { ids, path, userHeaders } = scene;
      const loader = new SteadyLoader();
      const names = ids.slice(0, conversations);
      const heard = names.flatMap((id) => Array<string>(listeners).fill(id));
      const listenerOf = await listenersOf(url, scene, heard);
      const streams = await openStreams(url, path, listenerOf, heard, loader.onFrame);
      const request = (number: number) =>
        messageRequest(path, userHeaders, names[number % names.length]!, markOf(number));
      const run = (duration: number) =>
        loader.run({ url, connections, seconds: duration, perSecond, request, listeners });
      return { streams, run };
    }),
  );
  const measured = await alternate(session, sides, rounds, async (side): Promise<FrameRound> => {
    const { run } = ready[sides.indexOf(side)]!;
    await run(warmUpSeconds);
    return timed(side, () => run(seconds));
  });
  ready.forEach(({ streams }) => streams.forEach((stream) => stream.close()));
  await sleep(settleMs);

  const p95 = measured.map((side) => side.map(({ p95Ms }) => p95Ms)) as [number[], number[]];
  const ratio = pairedRatio(...p95);
  const name = mode.toLowerCase();
  return {
    title: `${mode} mode: from a message to its listeners, ${title}; ${perSecond} messages a second, ${rounds} rounds of ${seconds} s`,
    rows: sides.map((side, i) =>
      toRow(side, measured[i]!, 'frame', {
        'p50 ms': ({ p50Ms }) => p50Ms,
        'p95 ms': ({ p95Ms }) => p95Ms,
        'p99 ms': ({ p99Ms }) => p99Ms,
        'sent late p95 ms': ({ lateMs }) => lateMs,
      }),
    ),
    aims: [
      {
        name: `p95, ${name}`,
        value: median(p95[0]),
        spread: [Math.min(...p95[0]), Math.max(...p95[0])],
        unit: ' ms',
        below: mode === 'Distributed' ? belowMs : undefined,
      },
      { name: `p95, ${name} / bare`, value: ratio.median, spread: [ratio.lowest, ratio.highest] },
    ],
    notes: [
      'Measured from the time at which the message was due, even if it was sent late, until the frame was read.',
      'Sent late: part of that time that passed before the message was sent. All streams belong to one user.',
      'Bare: one process that runs the same SQL and writes the frame to its own listeners, without a bus.',
    ],
    errors: sides.flatMap((side, i) =>
      measured[i]!.flatMap(({ firstError }) => (firstError ? [`${side.name}: ${firstError}`] : [])),
    ),
    rounds: Object.fromEntries(sides.map((side, i) => [side.name, measured[i]!])),
  };
}

/** The baseline has no authentication. */
async function listenersOf(url: string, scene: Conversations, ids: string[]) {
  if (scene.path === '') return () => ({});
  return (await openListeners(url, scene, ids)).listenerOf;
}

/** Opens one stream for each given conversation, duplicates included. */
async function openStreams(
  url: string,
  path: string,
  listenerOf: (stream: number) => Record<string, string>,
  ids: string[],
  onMark: (number: number) => void,
): Promise<SseConnection[]> {
  const streams: SseConnection[] = [];
  const waiting = ids.entries();
  const worker = async () => {
    for (const [stream, id] of waiting) {
      const listen = `${path}/conversations/${id}/listen`;
      streams.push(await SseConnection.open(url, listen, listenerOf(stream), onMark));
    }
  };
  await Promise.all(Array.from({ length: openersAtOnce }, worker));
  return streams;
}

/** Memory of the processes that hold or track the streams. */
async function measureMemory(
  { session }: Workbench,
  mode: Mode,
  { url, pids, nats }: Platform,
  { scene }: Candidate,
): Promise<Result> {
  const { standalone, gateway, chat } = pids;
  const processes: Record<string, number> =
    mode === 'Embedded' ? { standalone: standalone! } : { gateway: gateway!, chat: chat!, 'nats-server': nats!.pid };
  const read = () => Object.values(processes).map(residentMb);
  const { ids, path } = scene;
  const listenerOf = await listenersOf(url, scene, ids);
  session.checkpoint();
  await sleep(settleMs);
  const before = read();
  const streams = await openStreams(url, path, listenerOf, ids, () => undefined);
  await sleep(settleMs);
  const after = read();
  streams.forEach((stream) => stream.close());
  await sleep(settleMs);

  const added = after[0]! - before[0]!;
  return {
    title: `${mode} mode: memory for ${idleStreams.toLocaleString('en-US')} streams of as many conversations in which nothing is said`,
    rows: Object.keys(processes).map((name, i): Row => ({
      name,
      figures: {
        'before MB': before[i]!,
        'with streams MB': after[i]!,
        'KB a stream': (1000 * (after[i]! - before[i]!)) / idleStreams,
      },
    })),
    aims: [
      mode === 'Embedded'
        ? { name: 'added to the process by the streams', value: added, unit: ' MB', below: 200 }
        : { name: 'all of the gateway, with the streams', value: after[0]!, unit: ' MB', below: 200 },
    ],
    notes: [
      'Resident memory of the whole process, as the kernel counts it (VmRSS): before, after as many conversations were',
      `made; with streams, ${settleMs / 1000} s after the last one was open. Memory of the kernel for sockets is not in it.`,
    ],
    errors: [],
    rounds: {},
  };
}

async function startBareSide(bench: Workbench): Promise<Candidate> {
  const { databaseUrl, scene, recordings } = await record(bench);
  const side = await startBare(bench, 'bare-listen', { databaseUrl, schema: 'chat', recordings });
  return { ...side, scene: { ...scene, path: '', userHeaders: {} } };
}

async function record(
  bench: Workbench,
): Promise<{ databaseUrl: string; scene: Conversations; recordings: Recordings }> {
  const database = await newDatabase(bench);
  return onTappedPlatform(bench, database.url, async ({ platform, tap }) => {
    const scene = await openConversations(platform, Math.max(...scenarios.map(({ conversations }) => conversations)));
    const say = {
      name: 'say',
      title: '',
      line: () => `POST ${scene.path}/messages`,
      headers: scene.userHeaders,
      given: (index: number) => scene.ids[index]!,
      body: (conversationId: string) => ({ conversationId, payload: { type: 'text', text: markOf(0) } }),
      connections: 1,
    };
    return { databaseUrl: database.url, scene, recordings: await recordOperations(tap, platform.url, [say]) };
  });
}
