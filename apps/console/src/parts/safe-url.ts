const schemes = ['http:', 'https:'];

/** The URL if it is one of the web; undefined for others, such as `javascript:`. */
export function safeUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return schemes.includes(protocol) ? href : undefined;
}
