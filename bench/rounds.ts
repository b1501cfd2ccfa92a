import { setTimeout as sleep } from 'node:timers/promises';
import { cpuOf, cpuPerRequest, type Layers, machineCpuUs } from './cpu';
import { type LoadResult, runLoad } from './load';
import type { Options } from './options';
import type { Row } from './result';
import type { Session } from './session';
import { median } from './statistics';

/** One of the programs that are compared. */
export interface Side {
  name: string;
  url: string;
  /** Its processes and those that work for it, by layer. */
  layers: Layers;
  /** Processes that are this side's alone: they rest while another one is measured. */
  own: number[];
  next: () => string;
}

export interface Round extends LoadResult {
  cpuUs: Record<string, number>;
  /** Part of the machine's busy time that neither this side nor the generator has used: that of neighbours. */
  elsewhere: number;
}

const firstWarmUpSeconds = 3;
const warmUpSeconds = 0.5;
/** For what has waited while a side rested, and comes all at once when it goes on. */
const settleMs = 200;

/** Measures the sides in turns, forth and back, so that each meets the others in all states of the machine. */
export async function takeTurns(session: Session, sides: Side[], options: Options): Promise<Map<Side, Round[]>> {
  const results = new Map<Side, Round[]>(sides.map((side) => [side, []]));
  const everybody = sides.flatMap(({ own }) => own);
  for (let round = -1; round < options.rounds; round++) {
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
      session.checkpoint();
      session.letRun(side.own, everybody);
      await sleep(settleMs);
      await load(side, options, round < 0 ? Math.min(firstWarmUpSeconds, options.seconds) : warmUpSeconds);
      if (round >= 0) results.get(side)!.push(await measure(side, options));
    }
  }
  session.letRun(everybody, everybody);
  return results;
}

/** Medians of the rounds. */
export function toRow({ name }: Side, rounds: Round[]): Row {
  const of = (figure: (round: Round) => number) => median(rounds.map(figure));
  const layers = Object.keys(rounds[0]!.cpuUs);
  return {
    name,
    figures: {
      'requests/s': of(({ perSecond }) => perSecond),
      'p50 ms': of(({ p50Ms }) => p50Ms),
      'p99 ms': of(({ p99Ms }) => p99Ms),
      'CPU elsewhere %': 100 * of(({ elsewhere }) => elsewhere),
    },
    cpuUs: Object.fromEntries(layers.map((layer) => [layer, of(({ cpuUs }) => cpuUs[layer]!)])),
  };
}

function load({ url, next }: Side, { connections }: Options, seconds: number): Promise<LoadResult> {
  return runLoad({ url, next, connections, seconds });
}

async function measure(side: Side, options: Options): Promise<Round> {
  const [before, machineBefore] = [cpuOf(side.layers), machineCpuUs()];
  const result = await load(side, options, options.seconds);
  const [after, machineAfter] = [cpuOf(side.layers), machineCpuUs()];
  const cpuUs = cpuPerRequest(before, after, result.requests);
  const ours = result.requests * Object.values(cpuUs).reduce((total, us) => total + us, 0);
  return { ...result, cpuUs, elsewhere: Math.max(0, 1 - ours / (machineAfter - machineBefore)) };
}
