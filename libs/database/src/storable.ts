/** JSON text that a `jsonb` column takes: NUL and halves of characters, which Postgres refuses, become U+FFFD. */
export function toJsonb(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes('\\u')) return text;
  // Every escape is looked at, so that a backslash which is escaped itself is not taken for the start of one.
  return text.replaceAll(/\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (escape.length > 2 ? '\\ufffd' : escape));
}

/** What Node has and the library of TypeScript's target does not; many times faster than a regular expression. */
type WellFormedText = string & { isWellFormed(): boolean; toWellFormed(): string };

/** The same text as Postgres takes it. */
export function toText(value: string): string {
  const text = value as WellFormedText;
  const whole = text.isWellFormed() ? value : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\ufffd') : whole;
}
