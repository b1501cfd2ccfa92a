const maxMessageLength = 300;
const defaultRetryAfterMs = 5_000;
const maxRetryAfterMs = 60_000;

export class ResponseTooLarge extends Error {}

/** Reads the body as a stream, so that an endless one ends with ResponseTooLarge. */
export async function readBounded(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw new ResponseTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Error message of a response, shortened: OpenAI sends `error.message`, TEI `error`, vLLM `message`, others `detail` or
 * plain text. Masks the API key, which some servers repeat.
 */
export function messageOf(body: string, apiKey?: string): string {
  const response = parseJson(body) as { error?: unknown; message?: unknown; detail?: unknown } | null;
  const nested = (response?.error as { message?: unknown } | undefined)?.message;
  const given = [nested, response?.error, response?.message, response?.detail].find((text) => typeof text === 'string');
  const message = typeof given === 'string' ? given : body;
  const clean = (apiKey ? message.replaceAll(apiKey, '***') : message).replace(/\s+/g, ' ').trim();
  if (!clean) return 'no message';
  return clean.length > maxMessageLength ? `${clean.slice(0, maxMessageLength)}…` : clean;
}

/** Address below `/v1` of a server whose URL ends with or without it. */
export function apiUrl(url: string, path: string): string {
  return `${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1/${path}`;
}

export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** Retry-After in seconds or as an HTTP date, RFC 9110 section 10.2.3. */
export function retryAfterMs(header: string | null): number {
  const delayMs = /^\s*\d+\s*$/.test(header ?? '') ? Number(header) * 1000 : Date.parse(header ?? '') - Date.now();
  return Number.isNaN(delayMs) ? defaultRetryAfterMs : Math.min(Math.max(0, delayMs), maxRetryAfterMs);
}

/** Error code of a failed `fetch`, such as ` (ECONNREFUSED)`. */
export function codeOf(error: unknown): string {
  const code = ((error as Error).cause as { code?: string } | undefined)?.code;
  return code ? ` (${code})` : '';
}
