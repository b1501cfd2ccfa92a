/**
 * Constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). Higher values reduce the weight of the
 * first ranks.
 */
export const rankConstant = 60;

export const highestFusedScore = 2 / (rankConstant + 1);

export function candidatesPerSide(limit: number): number {
  return Math.max(100, limit);
}

/**
 * Reciprocal rank fusion of rankings (best first): the score of an item is the sum of 1 / (60 + rank), with ranks from
 * 1.
 */
export function fuse<Item extends { id: string }>(rankings: Item[][], limit: number): { item: Item; score: number }[] {
  const fused = new Map<string, { item: Item; score: number }>();
  for (const ranking of rankings) {
    ranking.forEach((item, position) => {
      const entry = fused.get(item.id) ?? { item, score: 0 };
      entry.score += 1 / (rankConstant + position + 1);
      fused.set(item.id, entry);
    });
  }
  return [...fused.values()].sort((a, b) => b.score - a.score || (a.item.id < b.item.id ? -1 : 1)).slice(0, limit);
}
