/** Throws when there are no values. */
export function median(values: number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle];
  if (upper === undefined) throw new Error('There is no median of no values.');
  return sorted.length % 2 === 1 ? upper : (sorted[middle - 1]! + upper) / 2;
}

export interface Ratio {
  /** Median of the paired ratios. */
  median: number;
  lowest: number;
  highest: number;
}

/** Of figures that were taken in pairs, one right after the other, so that what slows the machine down slows both. */
export function pairedRatio(figures: number[], baselines: number[]): Ratio {
  const ratios = figures.map((figure, i) => figure / baselines[i]!);
  return { median: median(ratios), lowest: Math.min(...ratios), highest: Math.max(...ratios) };
}

/** The least value that this part of all values does not exceed. Throws when there are none. */
export function percentile(values: number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)];
  if (value === undefined) throw new Error('There is no percentile of no values.');
  return value;
}
