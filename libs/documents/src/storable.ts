/** Removes U+0000 and lone surrogates, which Postgres refuses, and the other control characters. */
export function storable(text: string): string {
  return text.replace(/(?![\t-\r])[\p{Control}\p{Surrogate}]/gu, '');
}
