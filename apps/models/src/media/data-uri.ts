export function dataUri(type: string, bytes: Buffer): string {
  return `data:${type};base64,${bytes.toString('base64')}`;
}

/** Content of a data URI in base64; undefined for another one. */
export function contentOf(uri: string): { type: string; bytes: Buffer } | undefined {
  const comma = uri.slice(0, 500).indexOf(',');
  const [type = '', ...parameters] = uri.slice('data:'.length, Math.max(comma, 0)).split(';');
  if (comma < 0 || parameters.at(-1) !== 'base64') return undefined;
  return { type: type.toLowerCase(), bytes: Buffer.from(uri.slice(comma + 1), 'base64') };
}
