const maxMessageLength = 300;
const defaultRetryAfterMs = 5_000;
const maxRetryAfterMs = 60_000;

export class AnswerTooLong extends Error {}

/** The whole body, read as it comes, so that an endless answer ends with AnswerTooLong. */
export async function readBounded(response: Response, maxBytes: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBytes) throw new AnswerTooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * What an answer gives as its error, shortened: OpenAI says `error.message`, TEI `error`, vLLM `message`, others `detail`
 * or plain text. Some repeat the key, whole: it is left out.
 */
export function messageOf(body: string, apiKey?: string): string {
  const answer = parseJson(body) as { error?: unknown; message?: unknown; detail?: unknown } | null;
  const nested = (answer?.error as { message?: unknown } | undefined)?.message;
  const given = [nested, answer?.error, answer?.message, answer?.detail].find((text) => typeof text === 'string');
  const message = typeof given === 'string' ? given : body;
  const clean = (apiKey ? message.replaceAll(apiKey, '***') : message).replace(/\s+/g, ' ').trim();
  if (!clean) return 'no message';
  return clean.length > maxMessageLength ? `${clean.slice(0, maxMessageLength)}…` : clean;
}

/** Null for what is no JSON. */
export function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return null;
  }
}

/** Seconds or an HTTP date, as RFC 9110 section 10.2.3 has it. */
export function retryAfterMs(header: string | null): number {
  const wanted = /^\s*\d+\s*$/.test(header ?? '') ? Number(header) * 1000 : Date.parse(header ?? '') - Date.now();
  return Number.isNaN(wanted) ? defaultRetryAfterMs : Math.min(Math.max(0, wanted), maxRetryAfterMs);
}

/** Of a `fetch` that failed, such as ` (ECONNREFUSED)`. */
export function codeOf(error: unknown): string {
  const code = ((error as Error).cause as { code?: string } | undefined)?.code;
  return code ? ` (${code})` : '';
}
