/**
 * Removes U+0000 and lone surrogates, which Postgres refuses, the other control characters, and soft hyphens, which would
 * split the word for a search.
 */
export function storable(text: string): string {
  return text.replace(/(?![\t-\r])[\p{Control}\p{Surrogate}\u00ad]/gu, '');
}
