import { type Conversations, messageRequest } from './conversations';
import type { LoadResult } from './load';
import type { Operation } from './operations';
import type { Result } from './result';
import { RoundTrips, toUserText } from './round-trips';
import { alternate, compareSpeed, latencyAims, type Round, type Side, timed, toRow } from './rounds';
import { SseConnection } from './sse-connection';
import { type FrameLatencies, SteadyLoader } from './steady-load';
import type { Workbench } from './workbench';

export const conversationCount = 16;
/** The limits protect against bots that answer each other. Here they would be the result. */
export const noLimits = {
  DELIVERIES_PER_BOT: '64',
  DELIVERIES_PER_BOT_PER_SECOND: '100000',
  RUNNER_CONCURRENCY: '64',
};
export const limitsNote = `Set: ${Object.entries(noLimits)
  .map((pair) => pair.join('='))
  .join(' ')}.`;

const warmUpSeconds = 0.5;
const longestRound = 1;
const steady = { perSecond: 20, longestRound: 2, mostRounds: 3 };

/** Side with conversations whose bot answers each message of a user. */
export interface Candidate extends Side {
  scene: Conversations;
}

/** Round trips per second, as a ratio to each baseline. The first side is the product. `kind` names the bot. */
export async function benchRoundTrips(
  { session, options }: Workbench,
  sides: Candidate[],
  { mode, kind, atLeast }: { mode: 'Embedded' | 'Distributed'; kind: string; atLeast: number },
): Promise<Result> {
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
    title: `${mode} mode: from a user's message to the answer of a bot with ${kind}; ${conversationCount} conversations, ${options.rounds} rounds of ${seconds} s`,
    rows: sides.map((side, i) =>
      toRow(side, measured[i]!, 'round trip', { 'p50 ms': ({ p50Ms }) => p50Ms, 'p99 ms': ({ p99Ms }) => p99Ms }),
    ),
    aims: measured.slice(1).flatMap((baseline, i) => {
      const name = `${mode.toLowerCase()} / ${sides[i + 1]!.name}`;
      return compareSpeed(i === 0 ? { name, atLeast } : { name }, measured[0]!, baseline);
    }),
    notes: [
      limitsNote,
      'Message at the chat endpoint, event at the bot, message of the bot by the API, frame at the listener.',
      'Bare: one process that runs the SQL of a round trip statement by statement, the queue included, and calls the bot.',
      'Without a queue: only the SQL of both messages, and one statement that settles the event.',
    ],
    errors: errorsOf(sides, measured),
    rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
  };
}

/** Time until the answer at a steady rate. */
export async function benchLatency({ session, options }: Workbench, sides: Candidate[], kind: string): Promise<Result> {
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
  return {
    title: `Embedded mode: ${steady.perSecond} messages a second, answered by a bot with ${kind}; ${rounds} rounds of ${seconds} s`,
    rows: sides.map((side, i) => toRow(side, measured[i]!, 'answer', latencyFigures)),
    aims: latencyAims('an answer', { p50Ms: 25, p95Ms: 60 }, measured[0]!),
    notes: ['Measured from the time at which the message was due until the answer was read.'],
    errors: errorsOf(sides, measured),
    rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
  };
}

export const latencyFigures = {
  'p50 ms': ({ p50Ms }: FrameLatencies) => p50Ms,
  'p95 ms': ({ p95Ms }: FrameLatencies) => p95Ms,
  'sent late p95 ms': ({ lateMs }: FrameLatencies) => lateMs,
};

function errorsOf(sides: Side[], measured: { firstError?: string }[][]): string[] {
  return sides.flatMap(({ name }, i) =>
    measured[i]!.flatMap(({ firstError }) => (firstError ? [`${name}: ${firstError}`] : [])),
  );
}

export function openStreams(
  url: string,
  { path, userHeaders, ids }: Conversations,
  onMark: (number: number) => void,
): Promise<SseConnection[]> {
  return Promise.all(
    ids.map((id) => SseConnection.open(url, `${path}/conversations/${id}/listen`, userHeaders, onMark)),
  );
}

/** Both messages of a round trip, whose SQL the baseline runs. */
export function messageOperations({ botId, path, headers, userHeaders, ids }: Conversations): Operation[] {
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
