/** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009): the higher, the less the first ranks count. */
export const rankConstant = 60;

/** The score of what is first in both rankings. */
export const highestFusedScore = 2 / (rankConstant + 1);

/** How many candidates the dense and the sparse side each bring to the fusion. */
export function candidatesPerSide(limit: number): number {
  return Math.max(100, limit);
}

/** Reciprocal rank fusion of rankings that have their best first: an item's score is the sum of 1 / (60 + its rank), from 1. */
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
