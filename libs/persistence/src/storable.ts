/** JSON text for a `jsonb` column: NUL and unpaired surrogates, which Postgres rejects, become U+FFFD. */
export function toJsonb(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes('\\u')) return text;
  // Matches every escape, so that an escaped backslash is not taken for the start of one.
  return text.replaceAll(/\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (escape.length > 2 ? '\\ufffd' : escape));
}

/** Text for a `text` column: NUL and unpaired surrogates become U+FFFD. */
export function toText(value: string): string {
  const whole = value.isWellFormed() ? value : value.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}
