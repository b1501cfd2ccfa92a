import { setTimeout as sleep } from 'node:timers/promises';
import { type CpuUse, type Layers, measureCpu } from './cpu';
import type { Aim, Row } from './result';
import type { Session } from './session';
import { median, pairedRatio } from './statistics';

/** One of the programs that are compared. */
export interface Side {
  name: string;
  url: string;
  /** Its processes and those that work for it, by layer. */
  layers: Layers;
  /** Those that are this side's alone, by name: they rest while another one is measured. */
  processes: Record<string, number>;
}

/** What one round has given. */
export interface Round {
  /** How much was done, in the unit that is counted, and how much of it in a second. */
  count: number;
  perSecond: number;
  cpu: CpuUse;
}

/** For what has waited while a side rested, and comes all at once when it goes on. */
const settleMs = 200;

/**
 * Lets the sides work in turns, forth and back, so that each meets the others in all states of the machine. Before the
 * rounds that count comes one that does not. The rounds of each side, in the order of the sides.
 */
export async function takeTurns<S extends Side, R>(
  session: Session,
  sides: S[],
  rounds: number,
  work: (side: S, isWarmUp: boolean) => Promise<R>,
): Promise<R[][]> {
  const results = sides.map((): R[] => []);
  const everybody = sides.flatMap(({ processes }) => Object.values(processes));
  for (let round = -1; round < rounds; round++) {
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
      session.checkpoint();
      session.letRun(Object.values(side.processes), everybody);
      await sleep(settleMs);
      const result = await work(side, round < 0);
      if (round >= 0) results[sides.indexOf(side)]!.push(result);
    }
  }
  session.letRun(everybody, everybody);
  return results;
}

/** Work that is counted, with its processor time. */
export async function timed<T extends { count: number; perSecond: number }>(
  { layers }: Side,
  work: () => Promise<T>,
): Promise<T & Round> {
  const [result, cpu] = await measureCpu(layers, work);
  return { ...result, cpu };
}

/** Medians of the rounds. */
export function toRow<R extends Round>(
  { name }: Side,
  rounds: R[],
  unit: string,
  more: Record<string, (round: R) => number> = {},
): Row {
  const of = (figure: (round: R) => number) => median(rounds.map(figure));
  const figures: Record<string, (round: R) => number> = {
    [`${unit}/s`]: ({ perSecond }) => perSecond,
    ...more,
    'CPU elsewhere %': ({ cpu }) => 100 * cpu.elsewhere,
  };
  const layers = Object.keys(rounds[0]!.cpu.us);
  return {
    name,
    figures: Object.fromEntries(Object.entries(figures).map(([key, figure]) => [key, of(figure)])),
    cpu: {
      per: unit,
      us: Object.fromEntries(layers.map((layer) => [layer, of(({ cpu, count }) => cpu.us[layer]! / count)])),
    },
  };
}

/**
 * How one side's speed compares with another's, round by round: as it was measured, which is what the aim is for, and as it
 * would be if processor time alone decided. The second bears a machine that is busy with other things better.
 */
export function compareSpeed(aim: Omit<Aim, 'value' | 'spread'>, rounds: Round[], baseline: Round[]): Aim[] {
  const measured = ratioOf(({ perSecond }) => perSecond, rounds, baseline);
  const byProcessor = ratioOf(({ cpu, count }) => count / totalUs(cpu), rounds, baseline);
  return [
    { ...aim, ...measured },
    ...(Number.isFinite(byProcessor.value) ? [{ name: `${aim.name}, by processor time`, ...byProcessor }] : []),
  ];
}

function ratioOf(speed: (round: Round) => number, rounds: Round[], baseline: Round[]): Pick<Aim, 'value' | 'spread'> {
  const { median, lowest, highest } = pairedRatio(rounds.map(speed), baseline.map(speed));
  return { value: median, spread: [lowest, highest] };
}

/** NaN where processor time is not known. */
function totalUs({ us }: CpuUse): number {
  return Object.values(us).reduce((total, used) => total + used, 0) || NaN;
}
