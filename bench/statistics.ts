/** Throws for an empty list. */
export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  if (upper === undefined) throw new Error('The median of an empty list is undefined: pass at least one value.');
  return sorted.length % 2 === 1 ? upper : (sorted[middle - 1]! + upper) / 2;
}

export interface Ratio {
  median: number;
  lowest: number;
  highest: number;
}

/** Ratios of figures measured in pairs one right after the other, so that noise of the machine affects both. */
export function pairedRatio(figures: number[], baselines: number[]): Ratio {
  const ratios = figures.map((figure, i) => figure / baselines[i]!);
  return { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
}

/** Smallest value that is not exceeded by this part (0 to 1) of all values. Throws for an empty list. */
export function percentile(values: number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
  if (value === undefined) throw new Error('The percentile of an empty list is undefined: pass at least one value.');
  return value;
}
