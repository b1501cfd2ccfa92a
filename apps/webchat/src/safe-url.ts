const schemes = ['http:', 'https:'];

/** The URL if it is one of the web; undefined for others, such as `javascript:`. */
export function safeUrl(text: unknown): string | undefined {
  if (typeof text !== 'string' || !URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return schemes.includes(protocol) ? href : undefined;
}
