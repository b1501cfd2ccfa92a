import { hasWords, matchingPage } from './matching-page';

describe('a page of matching items', () => {
  const pages: Record<string, { items: number[]; nextToken?: string }> = {
    first: { items: [1, 3], nextToken: 'second' },
    second: { items: [5, 6], nextToken: 'third' },
    third: { items: [7] },
  };
  const list = (nextToken = 'first') => Promise.resolve(pages[nextToken]!);
  const isEven = (item: number) => item % 2 === 0;

  it('returns the first page that has a match, with the token of the next one', async () => {
    expect(await matchingPage(list, isEven)).toEqual({ items: [6], nextToken: 'third' });
  });

  it('returns an empty page at the end of the list', async () => {
    expect(await matchingPage(list, isEven, 'third')).toEqual({ items: [], nextToken: undefined });
  });

  it('matches items with all words, in any case and order', () => {
    expect(hasWords(['Tide tables', null], 'TABLES tide')).toBe(true);
    expect(hasWords(['Tide tables', undefined], 'tide chart')).toBe(false);
    expect(hasWords([], '')).toBe(true);
  });
});
