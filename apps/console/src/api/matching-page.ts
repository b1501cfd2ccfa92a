export interface PageOf<T> {
  items: T[];
  nextToken?: string;
}

/**
 * Page of the matching items of a list that the API does not filter: reads on until an item matches or the list ends.
 */
export async function matchingPage<T>(
  list: (nextToken?: string) => Promise<PageOf<T>>,
  isMatch: (item: T) => boolean,
  nextToken?: string,
): Promise<PageOf<T>> {
  const page = await list(nextToken);
  const items = page.items.filter(isMatch);
  if (items.length > 0 || page.nextToken === undefined) return { items, nextToken: page.nextToken };
  return matchingPage(list, isMatch, page.nextToken);
}

/** Whether each word is in one of the texts, in any case. */
export function hasWords(texts: (string | null | undefined)[], words: string): boolean {
  const all = texts.join('\n').toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}
