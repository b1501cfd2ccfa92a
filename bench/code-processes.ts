import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@parley/testing/wait-for';
import { latencyFigures, openStreams } from './answers';
import { deploy, keptPool } from './deployment';
import { bundleEcho, hostileCodes, silentCode } from './code-sources';
import { type Conversations, messageRequest, openConversations } from './conversations';
import { descendantsOf, residentMb, shareMb } from './memory';
import { newDatabase } from './operations';
import type { Result } from './result';
import { toUserText } from './round-trips';
import { median, pairedRatio } from './statistics';
import { type FrameLatencies, SteadyLoader } from './steady-load';
import { openBot, openEmbedded, type Workbench } from './workbench';

type Platform = Awaited<ReturnType<typeof openEmbedded>>;

const warmBots = 20;
const perSecond = 20;
const eventType = 'bench:happened';
const hostilePauseMs = 1_000;
const warmUpSeconds = 12;
/** A p95 needs more than the 20 messages of a second. */
const leastSeconds = 4;
/** Time until V8 has collected what the calls have left. */
const restMs = 30_000;
/** Time for disturbances to be at their height. */
const settleMs = 3_000;
const idle = { mostBots: 1_000, botsOfRoundSecond: 50, idleMs: 2_000, atOnce: 8 };

/** Bots of code, each with a conversation, whose processes run. */
async function openWarmBots(bench: Workbench, platform: Platform, databaseUrl: string, count: number) {
  const code = await bundleEcho();
  const pool = keptPool(bench, databaseUrl);
  const scenes: Conversations[] = [];
  for (let bot = 0; bot < count; bot++) {
    const scene = await openConversations(platform, 1);
    await deploy(platform, pool, scene, { code });
    scenes.push(scene);
  }
  return scenes;
}

/** Memory of warm processes, and the time until healthy bots answer, alone and beside code that harms. */
export async function benchWarmCode(bench: Workbench): Promise<Result[]> {
  const { options, session } = bench;
  const database = await newDatabase(bench);
  const platform = await openEmbedded(bench, { DATABASE_URL: database.url, RUNNER_PROCESSES: '24' });
  const parent = platform.pids['standalone']!;
  const before = { count: descendantsOf(parent).length, ownMb: residentMb(parent) };
  const scenes = await openWarmBots(bench, platform, database.url, warmBots);
  const loader = new SteadyLoader(20_000);
  for (const scene of scenes) await openStreams(platform.url, scene, loader.onFrame);
  const request = (number: number) => {
    const { path, userHeaders, ids } = scenes[number % scenes.length]!;
    return messageRequest(path, userHeaders, ids[0]!, toUserText(number));
  };
  const run = (seconds: number) =>
    loader.run({ url: platform.url, connections: warmBots, perSecond, request, listeners: 1, seconds });
  await run(2);
  const memory = reportMemory(parent, before);
  const seconds = Math.max(leastSeconds, options.seconds);

  const alone: FrameLatencies[] = [];
  const beside: FrameLatencies[] = [];
  const rounds = async (measured: FrameLatencies[]) => {
    for (let round = 0; round < options.rounds; round++) {
      session.checkpoint();
      measured.push(await run(seconds));
    }
  };
  const pool = keptPool(bench, database.url);
  // Events of harmless bots first, so that V8 has compiled the same code for both sides.
  const endWarmUp = await disturb(
    platform,
    pool,
    Object.values(hostileCodes).map(() => silentCode),
  );
  await run(warmUpSeconds);
  await endWarmUp();
  await rounds(alone);
  // Not by turns: an event that blocks the loop lasts a minute.
  const end = await disturb(platform, pool, Object.values(hostileCodes));
  await sleep(settleMs);
  await rounds(beside);
  await end();
  return [memory, reportNeighbours(alone, beside, seconds)];
}

function reportMemory(parent: number, before: { count: number; ownMb: number }): Result {
  const children = descendantsOf(parent).filter((pid) => residentMb(pid) > 20);
  const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
  const resident = children.map(residentMb);
  return {
    title: `Embedded mode: memory of ${warmBots} warm bots with 1 MB of code`,
    rows: [
      {
        name: `${children.length} processes of code`,
        figures: {
          'resident MB, sum': sum(resident),
          'share MB, sum': sum(children.map(shareMb)),
          'resident MB each': resident.length > 0 ? median(resident) : NaN,
        },
      },
      { name: 'platform before', figures: { 'resident MB, sum': before.ownMb } },
      { name: 'platform with them', figures: { 'resident MB, sum': residentMb(parent) } },
    ],
    aims: [],
    notes: ['Share: memory that several processes use is divided among them (Pss).'],
    errors: children.length < warmBots ? [`Only ${children.length} processes of ${warmBots} bots run.`] : [],
    rounds: {},
  };
}

/** Bots with these codes and events for them at a steady rate, until it is stopped. */
async function disturb(
  platform: Platform,
  pool: ReturnType<typeof keptPool>,
  codes: string[],
): Promise<() => Promise<void>> {
  const stop = new AbortController();
  const bots = await Promise.all(
    codes.map(async (code) => {
      const bot = await openBot(platform);
      await deploy(platform, pool, { botId: bot.id }, { code });
      return bot;
    }),
  );
  const sending = Promise.all(
    bots.map(async ({ client }) => {
      while (!stop.signal.aborted) {
        await client.createEvent({ type: eventType, payload: {} });
        await sleep(hostilePauseMs);
      }
    }),
  );
  return async () => {
    stop.abort();
    await sending;
  };
}

function reportNeighbours(alone: FrameLatencies[], beside: FrameLatencies[], seconds: number): Result {
  const row = (name: string, rounds: FrameLatencies[]) => ({
    name,
    figures: Object.fromEntries(
      Object.entries(latencyFigures).map(([key, figure]) => [key, median(rounds.map(figure))]),
    ),
  });
  const p95 = (rounds: FrameLatencies[]) => rounds.map(({ p95Ms }) => p95Ms);
  const ratio = pairedRatio(p95(beside), p95(alone));
  return {
    title: `Embedded mode: ${perSecond} messages a second to ${warmBots} bots with code, until the answer; ${alone.length} rounds of ${seconds} s`,
    rows: [row('alone', alone), row('beside hostile code', beside)],
    aims: [{ name: 'p95 beside / alone', value: ratio.median, spread: [ratio.lowest, ratio.highest], below: 1.5 }],
    notes: [
      `Set: RUNNER_PROCESSES=24. Hostile: four bots with an event a second each; one ${Object.keys(hostileCodes).join(', one ')}.`,
      'Measured from the time at which the message was due.',
    ],
    errors: [...alone, ...beside].flatMap(({ firstError }) => firstError ?? []),
    rounds: { alone, 'beside hostile code': beside },
  };
}

/** Memory and processes after many bots were called once. */
export async function benchIdleCode(bench: Workbench): Promise<Result[]> {
  const { seconds, rounds } = bench.options;
  const count = Math.min(idle.mostBots, Math.round(idle.botsOfRoundSecond * seconds * rounds));
  const database = await newDatabase(bench);
  const env = { RUNNER_IDLE_MS: String(idle.idleMs), RATE_LIMIT_PER_SECOND: '0' };
  const platform = await openEmbedded(bench, { DATABASE_URL: database.url, ...env });
  const parent = platform.pids['standalone']!;
  const pool = keptPool(bench, database.url);
  const own = descendantsOf(parent).length;
  const callOnce = async () => {
    const bot = await openBot(platform);
    await deploy(platform, pool, { botId: bot.id }, { code: silentCode });
    const { event } = await bot.client.createEvent({ type: eventType, payload: {} });
    await waitFor(
      () => bot.client.getEvent({ id: event.id }),
      ({ event: { status } }) => status === 'processed',
      60_000,
    );
  };
  const call = async (bots: number) => {
    const numbers = Array.from({ length: bots }, (_, number) => number).values();
    const caller = async () => {
      for (const _ of numbers) {
        bench.session.checkpoint();
        await callOnce();
      }
    };
    await Promise.all(Array.from({ length: idle.atOnce }, caller));
    const most = descendantsOf(parent).length - own;
    await waitFor(() => descendantsOf(parent).length <= own, Boolean, 60_000);
    await sleep(restMs);
    return { most, memoryMb: residentMb(parent) };
  };
  // The first ones fill pools, caches and the heap of the platform.
  const first = await call(Math.ceil(count / 4));
  const all = await call(count);
  return [
    {
      title: `Embedded mode: ${count.toLocaleString('en-US')} bots with code that were called once`,
      rows: [
        {
          name: `after ${Math.ceil(count / 4)} bots`,
          figures: { 'resident MB': first.memoryMb, 'processes before': first.most },
        },
        { name: `after ${count} more`, figures: { 'resident MB': all.memoryMb, 'processes before': all.most } },
      ],
      aims: [{ name: 'memory after / before', value: all.memoryMb / first.memoryMb, below: 1.1 }],
      notes: [
        `Set: ${Object.entries(env)
          .map((pair) => pair.join('='))
          .join(' ')}.`,
        'No process of code is left: else the run fails. Resident memory of the process of the platform after 30 s at rest.',
      ],
      errors: [],
      rounds: {},
    },
  ];
}
