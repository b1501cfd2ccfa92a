/** JSON text that a `jsonb` column takes: NUL and halves of characters, which Postgres refuses, become U+FFFD. */
export function toJsonb(value: unknown): string {
  const text = JSON.stringify(value);
  if (!text.includes('\\u')) return text;
  // Every escape is looked at, so that a backslash which is escaped itself is not taken for the start of one.
  return text.replaceAll(/\\(u0000|ud[89a-f][0-9a-f]{2}|.)/g, (escape) => (escape.length > 2 ? '\\ufffd' : escape));
}

/** Text that a `text` column takes. */
export function toText(value: string): string {
  return value.replaceAll('\0', '\ufffd');
}
