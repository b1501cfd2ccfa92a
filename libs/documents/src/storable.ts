/** Postgres refuses U+0000 and lone surrogates; no reader misses the other controls. */
export function storable(text: string): string {
  return text.replace(/(?![\t-\r])[\p{Control}\p{Surrogate}]/gu, '');
}
