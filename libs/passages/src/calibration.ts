import { bundledModel } from './bundled-embedder';

/**
 * Calibration of each model: the score that the best hit of 95 % of the nonsense queries of bench/retrieval does not
 * reach, measured by `npm run bench -- --only retrieval`.
 */
const leastScores: Record<string, number> = { [bundledModel]: 0.33 };

/** Undefined for a model that is not calibrated. */
export function leastScoreOf(model: string): number | undefined {
  return Object.hasOwn(leastScores, model) ? leastScores[model] : undefined;
}
