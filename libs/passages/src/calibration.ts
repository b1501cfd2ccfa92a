import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Rejected, type VariableType } from '@parley/config/config';

/** Score that nonsense hardly reaches with a model, fitted by `npm run bench -- --only retrieval --calibrate`. */
export interface Calibration {
  model: string;
  leastScore: number;
}

/** Share of nonsense queries that may reach the least score. */
export const toleratedShare = 0.05;
const steps = 1000;

/** Calibration of a model that this configuration is for. */
export const calibration: VariableType<Calibration> = {
  accepts: 'the name of a model, `=` and a number from 0 to 1',
  read: (value) => {
    const [, model, number] = /^(.+)=([01]|0?\.\d+)$/.exec(value) ?? [];
    return model === undefined ? new Rejected() : { model, leastScore: Number(number) };
  },
};

/** Least score of a bundled model; undefined when it is not calibrated. */
export function bundledLeastScore(model: string): number | undefined {
  const file = readFileSync(join(__dirname, '../model/calibration.json'), 'utf8');
  return new Map(Object.entries(JSON.parse(file) as Record<string, number>)).get(model);
}

/**
 * The lowest score of three decimals that at most 5 % of the nonsense reaches. Scores are those of the best passage for
 * each nonsense query, in any order.
 */
export function fitLeastScore(nonsense: number[]): number {
  const descending = [...nonsense].sort((a, b) => b - a);
  const first = descending[Math.floor(nonsense.length * toleratedShare)] ?? 0;
  return Math.min(steps, Math.floor(first * steps) + 1) / steps;
}
