import type { LanguageModelUse } from '@parley/contracts/chat/analytics';
import type { Distribution } from '@parley/contracts/models/use';
import type { ModelFigures } from './model-use.entity';

/** Figures of language models of one day, from those of its hours. */
export function dayOfModels(hours: ModelFigures[]): LanguageModelUse {
  const total = (of: (figures: ModelFigures) => number) => hours.reduce((sum, figures) => sum + of(figures), 0);
  const costs = hours.map(({ cost }) => cost);
  return {
    calls: total(({ calls }) => calls),
    errors: total(({ errors }) => errors),
    inputTokens: total(({ inputTokens }) => inputTokens),
    outputTokens: total(({ outputTokens }) => outputTokens),
    latency: spreadOf(hours.map(({ latency }) => latency)),
    tokensPerSecond: spreadOf(hours.map(({ tokensPerSecond }) => tokensPerSecond)),
    cost: { sum: costs.reduce((sum, each) => sum + each.sum, 0), ...spreadOf(costs) },
  };
}

function spreadOf(all: Distribution[]) {
  const counted = all.filter(({ count }) => count > 0);
  if (counted.length === 0) return { mean: 0, sd: 0, min: 0, max: 0 };
  const [count, sum, squares] = (['count', 'sum', 'squares'] as const).map((name) =>
    counted.reduce((total, each) => total + each[name], 0),
  ) as [number, number, number];
  const mean = sum / count;
  return {
    mean,
    // Rounding may make the variance of equal values negative.
    sd: Math.sqrt(Math.max(0, squares / count - mean * mean)),
    min: Math.min(...counted.map(({ min }) => min)),
    max: Math.max(...counted.map(({ max }) => max)),
  };
}
