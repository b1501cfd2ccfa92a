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
