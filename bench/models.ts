import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningPlatform, startDistributed } from '@parley/testing/running-platform';
import { httpRequest, runLoad } from './load';
import { residentMb } from './memory';
import type { Pace } from './model-upstream';
import { type Candidate, compareOperation, newDatabase, productSide } from './operations';
import type { Aim, Result, Row } from './result';
import { alternate, compareSpeed, type Round, type Side, timed, toRow } from './rounds';
import { median, percentile } from './statistics';
import { readTokens } from './token-stream';
import { newLogFile, openBare, openBot, openEmbedded, productEnv, type Workbench } from './workbench';

type Mode = 'Embedded' | 'Distributed';
type Platform = RunningPlatform & { nats?: { pid: number } };

/** A token is on time if it is read before the next one is due. */
const tokenMs = 1_000 / 30;
const usual = { streams: 50, thinkMs: 100, seconds: 3 };
const many = { streams: 200, seconds: 4, rampMs: 1_000 };
const warmUpStreams = 5;

interface StreamRound extends Round {
  first: number[];
  onTime: number;
}

interface Streaming extends Side {
  request: (pace: Pace) => string;
}

export function benchModelsEmbedded(bench: Workbench): Promise<Result[]> {
  return benchModels(bench, 'Embedded', (env) => openEmbedded(bench, env));
}

export function benchModelsDistributed(bench: Workbench): Promise<Result[]> {
  return benchModels(bench, 'Distributed', async (env) =>
    bench.session.keep(await startDistributed({ env: { ...productEnv(bench), ...env }, logFile: newLogFile(bench) })),
  );
}

/** Calls of models beside the bare provider: one that paces its tokens, and does nothing else. */
async function benchModels(
  bench: Workbench,
  mode: Mode,
  start: (env: Record<string, string>) => Promise<Platform>,
): Promise<Result[]> {
  const upstream = await openBare(bench, 'model-upstream', {});
  const { url: databaseUrl } = await newDatabase(bench);
  const env = { COMPLETIONS_SCRIPT_FILE: '', COMPLETIONS_URL: upstream.url, COMPLETIONS_CACHE_SECONDS: '0' };
  const platform = await start({ DATABASE_URL: databaseUrl, ...env });
  const { headers } = await openBot(platform);
  const own = productSide(bench, 'models', platform);
  const product = { ...own, layers: { ...own.layers, upstream: [upstream.pid] } };
  const bare: Side = {
    name: 'bare upstream',
    url: upstream.url,
    layers: { upstream: [upstream.pid] },
    // Both sides use it.
    processes: {},
  };
  const messagesOf = (content: object) => ({ messages: [{ role: 'user', content: JSON.stringify(content) }] });
  const closing = { connection: 'close' };
  const streaming: Streaming[] = [
    {
      ...product,
      request: (pace) =>
        httpRequest(
          'POST /v2/cognitive/generate-text-stream',
          { ...headers, ...closing },
          JSON.stringify(messagesOf(pace)),
        ),
    },
    {
      ...bare,
      request: (pace) =>
        httpRequest(
          'POST /v1/chat/completions',
          closing,
          JSON.stringify({ ...messagesOf(pace), model: 'paced', stream: true }),
        ),
    },
  ];
  return [
    await compareFirstTokens(bench, mode, streaming),
    await compareManyStreams(bench, mode, streaming),
    await measureMemory(bench, mode, platform, streaming[0]!),
    await compareCalls(bench, mode, product, bare, headers),
  ];
}

/** Each of the streams ends and begins anew, so that first tokens arrive beside the tokens of others. */
async function compareFirstTokens({ session, options }: Workbench, mode: Mode, sides: Streaming[]): Promise<Result> {
  const { streams, thinkMs } = usual;
  const seconds = Math.min(usual.seconds, options.seconds);
  const pace = { thinkMs, everyMs: tokenMs, tokens: 15 };
  const measured = await alternate(session, sides, options.rounds, async (side) => {
    await pourOnce(side, warmUpStreams, { ...pace, tokens: 1 }, 0);
    return timed(side, () => pourFor(side, streams, pace, seconds));
  });
  const [ours, bare] = measured as [StreamRound[], StreamRound[]];
  const added = (name: string, part: number, below: number): Aim => {
    const values = ours.map(({ first }, i) => percentile(first, part) - percentile(bare[i]!.first, part));
    const spread: [number, number] = [Math.min(...values), Math.max(...values)];
    return {
      name: `${name} of the first token beside the bare upstream`,
      value: median(values),
      spread,
      unit: ' ms',
      below,
    };
  };
  return {
    title: `${mode} mode: first token of streamed answers, ${streams} at once; ${options.rounds} rounds of ${seconds} s`,
    rows: sides.map((side, i) =>
      toRow(side, measured[i]!, 'token', {
        'first p50 ms': ({ first }) => percentile(first, 0.5),
        'first p95 ms': ({ first }) => percentile(first, 0.95),
      }),
    ),
    aims: [added('p50', 0.5, 5), added('p95', 0.95, 15)],
    notes: [`The upstream sends the first token after ${thinkMs} ms, then 30 a second, 15 in all.`],
    errors: [],
    rounds: roundsOf(sides, measured),
  };
}

async function compareManyStreams({ session, options }: Workbench, mode: Mode, sides: Streaming[]): Promise<Result> {
  const { streams, rampMs } = many;
  const seconds = Math.min(many.seconds, options.seconds);
  const pace = { thinkMs: 0, everyMs: tokenMs, tokens: Math.round((1_000 * seconds) / tokenMs) };
  const measured = await alternate(session, sides, options.rounds, async (side) => {
    await pourOnce(side, warmUpStreams, { ...pace, tokens: 1 }, 0);
    return timed(side, () => pourOnce(side, streams, pace, rampMs));
  });
  const shares = measured[0]!.map(({ onTime }) => onTime);
  return {
    title: `${mode} mode: ${streams} streams of 30 tokens a second; ${options.rounds} rounds of ${seconds} s`,
    rows: sides.map((side, i) => toRow(side, measured[i]!, 'token', { 'on time %': ({ onTime }) => 100 * onTime })),
    aims: [
      {
        name: `share of tokens on time, ${mode.toLowerCase()}`,
        value: median(shares),
        spread: [Math.min(...shares), Math.max(...shares)],
        atLeast: 0.95,
      },
    ],
    notes: [
      'On time: read before the next token is due, 33 ms after its own time at the upstream.',
      'Processor time in µs per token, which is ms per 1,000 tokens; the start of each stream is in it.',
    ],
    errors: [],
    rounds: roundsOf(sides, measured),
  };
}

async function measureMemory(
  { session }: Workbench,
  mode: Mode,
  { pids, nats }: Platform,
  side: Streaming,
): Promise<Result> {
  const { standalone, gateway, models } = pids;
  const processes: Record<string, number> =
    mode === 'Embedded'
      ? { standalone: standalone! }
      : { gateway: gateway!, models: models!, 'nats-server': nats!.pid };
  session.checkpoint();
  const read = () => Object.values(processes).map(residentMb);
  const before = read();
  const { streams, seconds, rampMs } = many;
  const pace = { thinkMs: 0, everyMs: tokenMs, tokens: Math.round((1_000 * seconds) / tokenMs) };
  const [during] = await Promise.all([
    sleep(rampMs + (1_000 * seconds) / 2).then(read),
    pourOnce(side, streams, pace, rampMs),
  ]);
  return {
    title: `${mode} mode: memory during ${streams} streams`,
    rows: Object.keys(processes).map((name, i): Row => ({
      name,
      figures: {
        'before MB': before[i]!,
        'with streams MB': during[i]!,
        'KB a stream': (1_000 * (during[i]! - before[i]!)) / streams,
      },
    })),
    aims: [],
    notes: ['Resident memory of the whole process (VmRSS), after the rounds above and while all streams are open.'],
    errors: [],
    rounds: {},
  };
}

/** Calls that are answered in one piece, as many as are answered. */
function compareCalls(
  bench: Workbench,
  mode: Mode,
  product: Side,
  bare: Side,
  headers: Record<string, string>,
): Promise<Result> {
  const messages = [{ role: 'user', content: 'Describe the sea in one sentence.' }];
  const whole = httpRequest('POST /v2/cognitive/generate-text', headers, JSON.stringify({ messages }));
  const direct = httpRequest('POST /v1/chat/completions', {}, JSON.stringify({ model: 'paced', messages }));
  const { connections } = bench.options;
  const candidate = (side: Side, request: string): Candidate => ({
    ...side,
    run: (_operation, seconds) => runLoad({ url: side.url, connections, seconds, next: () => request }),
  });
  const sides = [candidate(product, whole), candidate(bare, direct)];
  return compareOperation(bench, {
    mode,
    operation: {
      name: 'generate',
      title: 'calls of a model in one piece',
      connections,
      line: () => '',
      headers,
      given: () => '',
    },
    sides,
    aims: (of) => compareSpeed({ name: `calls, ${mode.toLowerCase()} / bare upstream` }, of(sides[0]!), of(sides[1]!)),
    notes: ['The upstream answers at once. Parley reserves and settles each call in Postgres.'],
    seconds: bench.options.seconds,
  });
}

/** Streams that begin anew until the time is over. */
async function pourFor({ url, request }: Streaming, streams: number, pace: Pace, seconds: number) {
  const end = performance.now() + 1_000 * seconds;
  const poured: Awaited<ReturnType<typeof readTokens>>[] = [];
  const text = request(pace);
  const lengthMs = pace.thinkMs + pace.tokens * pace.everyMs;
  await Promise.all(
    Array.from({ length: streams }, async (_, index) => {
      await sleep((lengthMs * index) / streams);
      while (performance.now() < end) poured.push(await readTokens(url, text));
    }),
  );
  return summed(poured, seconds);
}

/** Each stream once, begun evenly within the ramp. */
async function pourOnce({ url, request }: Streaming, streams: number, pace: Pace, rampMs: number) {
  const start = performance.now();
  const text = request(pace);
  const poured = await Promise.all(
    Array.from({ length: streams }, async (_, index) => {
      await sleep((rampMs * index) / streams);
      return readTokens(url, text);
    }),
  );
  return summed(poured, (performance.now() - start) / 1_000);
}

function summed(poured: Awaited<ReturnType<typeof readTokens>>[], seconds: number) {
  const late = poured.flatMap(({ lateMs }) => lateMs);
  const onTime = late.filter((ms) => ms < tokenMs).length / late.length;
  const first = poured.map(({ firstMs }) => firstMs);
  return { count: late.length, perSecond: late.length / seconds, first, onTime };
}

function roundsOf(sides: Side[], measured: StreamRound[][]): Record<string, object[]> {
  return Object.fromEntries(
    sides.map(({ name }, i) => [name, measured[i]!.map(({ first: _first, ...round }) => round)]),
  );
}
