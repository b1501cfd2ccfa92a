export interface Scores {
  /** Part of the tokens of the reference that were read. */
  recall: number;
  /** Part of the tokens read that the reference has. */
  precision: number;
  /** Longest part of the tokens in the order of the reference, of those that both have once. */
  order: number;
}

/** Words and numbers; each character of scripts without spaces. */
export function tokensOf(text: string): string[] {
  return text.normalize('NFKC').match(/[\p{sc=Han}\p{sc=Hira}]|[\p{sc=Kana}ー]+|[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

export function scoresOf(read: string, reference: string): Scores {
  const [found, wanted] = [tokensOf(read), tokensOf(reference)];
  const [counts, places] = [countsOf(found), countsOf(wanted)];
  let common = 0;
  for (const [token, count] of places) common += Math.min(count, counts.get(token) ?? 0);
  const isUnique = (token: string) => counts.get(token) === 1 && places.get(token) === 1;
  const positions = new Map(wanted.map((token, position) => [token, position]));
  const unique = found.filter(isUnique).map((token) => positions.get(token)!);
  return {
    recall: share(common, wanted.length),
    precision: share(common, found.length),
    order: share(longestRise(unique), unique.length),
  };
}

const share = (part: number, whole: number) => (whole === 0 ? 1 : part / whole);

function countsOf(tokens: string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const token of tokens) counts.set(token, (counts.get(token) ?? 0) + 1);
  return counts;
}

/** Length of the longest increasing subsequence. */
function longestRise(values: number[]): number {
  const lowestEnds: number[] = [];
  for (const value of values) {
    const place = lowestEnds.findIndex((end) => end >= value);
    lowestEnds[place === -1 ? lowestEnds.length : place] = value;
  }
  return lowestEnds.length;
}
