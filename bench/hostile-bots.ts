import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { clientOf } from '@parley/testing/api';
import { measureCpu } from './cpu';
import { HttpConnection } from './http-connection';
import { httpRequest } from './load';
import type { Result } from './result';
import { median, pairedRatio, percentile } from './statistics';
import { openBare, openBot, openEmbedded, type Workbench } from './workbench';

const healthyBots = 20;
const healthyPerSecond = 40;
const hostilePaths = ['/huge', '/headers', '/slow-headers', '/redirect', '/gzip', '/half', '/hang', '/slow', '/reset'];
const hostilePerSecond = 20;
/** Time for called bots to become known, and for calls under way to end. */
const settleMs = 3_000;
const lastCallsMs = 10_000;
const type = 'bench:happened';

interface Measured {
  p50Ms: number;
  p95Ms: number;
  lost: number;
}

/** Server of the healthy bots. It answers at once and notes when each event arrived. */
class HealthyServer {
  readonly calledAt = new Map<number, number>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<HealthyServer> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { event } = JSON.parse(Buffer.concat(chunks).toString() || '{}') as {
          event?: { payload: { number?: number } };
        };
        const number = event?.payload.number;
        if (number !== undefined && !healthy.calledAt.has(number)) healthy.calledAt.set(number, performance.now());
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
    const healthy = new HealthyServer(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return healthy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  stop(): Promise<void> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(() => resolve()));
  }
}

/** Time from an event to the call of a healthy bot, alone and beside bots that answer with harm. */
export async function benchHostileBots(bench: Workbench): Promise<Result[]> {
  const { options, session } = bench;
  const platform = await openEmbedded(bench, { RATE_LIMIT_PER_SECOND: '0' });
  const hostile = await openBare(bench, 'hostile-bot', {});
  const server = session.keep(await HealthyServer.start());
  const newBots = (urls: string[]) =>
    Promise.all(
      urls.map(async (url) => {
        const bot = await openBot(platform);
        await clientOf(platform).updateBot({ id: bot.id, url });
        return bot;
      }),
    );
  const healthy = await newBots(Array.from({ length: healthyBots }, () => server.url));
  const connections = await Promise.all(healthy.map(() => HttpConnection.open(platform.url)));
  await sleep(settleMs);

  let next = 0;
  /** Sends events at a steady rate, each bot one at a time. */
  const measure = async (seconds: number): Promise<Measured> => {
    const first = next;
    next += seconds * healthyPerSecond;
    const dueAt = new Map<number, number>();
    const startedAt = performance.now();
    await Promise.all(
      healthy.map(async ({ headers }, bot) => {
        for (let number = first + bot; number < next; number += healthyBots) {
          const due = startedAt + (1_000 * (number - first)) / healthyPerSecond;
          await sleep(Math.max(0, due - performance.now()));
          dueAt.set(number, due);
          const body = JSON.stringify({ type, payload: { number } });
          const status = await connections[bot]!.send(httpRequest('POST /v1/chat/events', headers, body));
          if (status > 299) throw new Error(`POST /v1/chat/events answered ${status}.`);
        }
      }),
    );
    const endsAt = performance.now() + lastCallsMs;
    while ([...dueAt.keys()].some((number) => !server.calledAt.has(number)) && performance.now() < endsAt)
      await sleep(20);
    const took = [...dueAt].flatMap(([number, due]) => {
      const at = server.calledAt.get(number);
      return at === undefined ? [] : [at - due];
    });
    return { p50Ms: percentile(took, 0.5), p95Ms: percentile(took, 0.95), lost: dueAt.size - took.length };
  };

  /** Events for bots with these paths at a steady rate, until it is stopped. Then returns their number. */
  const disturb = async (paths: string[]) => {
    const bots = await newBots(paths.map((path) => `${hostile.url}${path}`));
    let sent = 0;
    const stop = new AbortController();
    const sending = Promise.all(
      bots.map(async ({ client }) => {
        while (!stop.signal.aborted) {
          await client.createEvent({ type, payload: {} });
          sent += 1;
          await sleep((1_000 * hostilePaths.length) / hostilePerSecond);
        }
      }),
    );
    return async () => {
      stop.abort();
      await sending;
      return sent;
    };
  };

  const alone: Measured[] = [];
  const beside: Measured[] = [];
  const besideHarmless: Measured[] = [];
  const rounds = async (measured: Measured[]) => {
    for (let round = 0; round < options.rounds; round++) {
      session.checkpoint();
      measured.push(await measure(options.seconds));
    }
  };
  await measure(1);
  await rounds(alone);
  // Not by turns: calls of bots that hang last a minute.
  const [sent, { us }] = await measureCpu({ hostile: [hostile.pid] }, async () => {
    const end = await disturb(hostilePaths);
    await sleep(settleMs);
    await rounds(beside);
    return end();
  });
  const msPerEvent = us['hostile'] === undefined ? 0 : us['hostile'] / sent / 1_000;
  const end = await disturb(hostilePaths.map(() => `/busy?${msPerEvent.toFixed(1)}`));
  await sleep(settleMs);
  await rounds(besideHarmless);
  await end();
  connections.forEach((connection) => connection.close());
  return [report({ alone, beside, besideHarmless, msPerEvent }, options.seconds)];
}

interface Figures {
  alone: Measured[];
  beside: Measured[];
  besideHarmless: Measured[];
  msPerEvent: number;
}

function report({ alone, beside, besideHarmless, msPerEvent }: Figures, seconds: number): Result {
  const row = (name: string, rounds: Measured[]) => ({
    name,
    figures: {
      'p50 ms': median(rounds.map(({ p50Ms }) => p50Ms)),
      'p95 ms': median(rounds.map(({ p95Ms }) => p95Ms)),
      'not called': rounds.reduce((sum, { lost }) => sum + lost, 0),
    },
  });
  const p95 = (rounds: Measured[]) => rounds.map(({ p95Ms }) => p95Ms);
  const compare = (name: string, baseline: Measured[]) => {
    const ratio = pairedRatio(p95(beside), p95(baseline));
    return { name, value: ratio.median, spread: [ratio.lowest, ratio.highest] as [number, number] };
  };
  return {
    title: `Embedded mode: from an event to the call of a bot with a url; ${healthyBots} bots, ${healthyPerSecond} events a second, ${alone.length} rounds of ${seconds} s`,
    rows: [
      row('alone', alone),
      row('beside hostile bots', beside),
      row('beside harmless bots that cost as much', besideHarmless),
    ],
    aims: [
      { ...compare('p95 beside / alone', alone), below: 1.5 },
      { ...compare('p95 beside hostile / beside harmless', besideHarmless), below: 1.5 },
    ],
    notes: [
      `Hostile: ${hostilePerSecond} events a second for ${hostilePaths.length} bots, that answer with ${hostilePaths.join(' ')}.`,
      'Measured from the time at which the event was due. The server of the hostile bots uses the same processors: therefore',
      `the baseline has as many events for harmless bots, whose server works ${msPerEvent.toFixed(1)} ms for each, as that of the hostile ones.`,
    ],
    errors: [...alone, ...beside, ...besideHarmless].flatMap(({ lost }) =>
      lost > 0 ? [`${lost} events were not delivered.`] : [],
    ),
    rounds: { alone, 'beside hostile bots': beside, 'beside harmless bots': besideHarmless },
  };
}
