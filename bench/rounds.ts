import { setTimeout as sleep } from 'node:timers/promises';
import { type CpuUse, type Layers, measureCpu } from './cpu';
import type { Aim, Row } from './result';
import type { Session } from './session';
import { median, pairedRatio } from './statistics';

export interface Side {
  name: string;
  url: string;
  /** Processes of this side and their backends, by layer. */
  layers: Layers;
  /** Processes used by this side only, by name. They are stopped (SIGSTOP) while another side is measured. */
  processes: Record<string, number>;
}

export interface Round {
  count: number;
  perSecond: number;
  cpu: CpuUse;
}

/** Time for the backlog of a resumed side to be processed. */
const settleMs = 200;

/**
 * Runs the sides alternately, forward and backward, so that noise of the machine affects all. The first round is a
 * warm-up and not counted. Returns the rounds of each side, in the order of the sides.
 */
export async function alternate<S extends Side, R>(
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

export async function timed<T extends { count: number; perSecond: number }>(
  { layers }: Side,
  work: () => Promise<T>,
): Promise<T & Round> {
  const [result, cpu] = await measureCpu(layers, work);
  return { ...result, cpu };
}

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
 * Ratio of the speed of two sides, paired by round: measured, which the aim refers to, and by CPU time, which is more
 * robust on a busy machine.
 */
export function compareSpeed(aim: Omit<Aim, 'value' | 'spread'>, rounds: Round[], baseline: Round[]): Aim[] {
  const measured = ratioOf(({ perSecond }) => perSecond, rounds, baseline);
  const byProcessor = ratioOf(({ cpu, count }) => count / totalUs(cpu), rounds, baseline);
  return [
    { ...aim, ...measured },
    ...(Number.isFinite(byProcessor.value) ? [{ name: `${aim.name}, by processor time`, ...byProcessor }] : []),
  ];
}

/** Aims in milliseconds, by the median of the rounds. */
export function latencyAims(
  name: string,
  below: { p50Ms?: number; p95Ms?: number },
  rounds: { p50Ms: number; p95Ms: number }[],
): Aim[] {
  const aim = (part: string, values: number[], limit?: number): Aim => ({
    ...{ name: `${part} of ${name}`, value: median(values), unit: ' ms' },
    ...{ spread: [Math.min(...values), Math.max(...values)], below: limit },
  });
  return [
    aim(
      'p50',
      rounds.map(({ p50Ms }) => p50Ms),
      below.p50Ms,
    ),
    aim(
      'p95',
      rounds.map(({ p95Ms }) => p95Ms),
      below.p95Ms,
    ),
  ];
}

/** Ratio of a figure of two sides, paired by round. */
export function ratioOf(
  figure: (round: Round) => number,
  rounds: Round[],
  baseline: Round[],
): Pick<Aim, 'value' | 'spread'> {
  const { median, lowest, highest } = pairedRatio(rounds.map(figure), baseline.map(figure));
  return { value: median, spread: [lowest, highest] };
}

/** NaN where CPU time is unknown. */
function totalUs({ us }: CpuUse): number {
  return Object.values(us).reduce((total, used) => total + used, 0) || NaN;
}
