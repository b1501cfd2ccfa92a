import { inSpan, isTraced } from '@parley/tracing/tracing';
import { apiUrl, ResponseTooLarge, codeOf, messageOf, parseJson, readBounded, retryAfterMs } from './response';
import type { ServerBusy, ServerRefused, ServerUnavailable } from './server-errors';

/** Statuses that the text itself causes. All others depend on the state of the server, which an operator may fix. */
const refusals = [400, 413, 422];

export interface OpenAiServer {
  /** Name in error messages, such as "embedding server". */
  name: string;
  /** With or without `/v1`. */
  url: string;
  apiKey?: string;
  timeoutMs: number;
  maxResponseBytes: number;
  errors: {
    Busy: new (message: string, retryAfterMs: number) => ServerBusy;
    Refused: new (message: string) => ServerRefused;
    Unavailable: new (message: string, options?: ErrorOptions) => ServerUnavailable;
  };
}

/**
 * Body of the answer to `POST /v1/<path>`. Throws one of the server's errors, or the reason of the signal. Never
 * retries.
 */
export function post(server: OpenAiServer, path: string, input: object, signal?: AbortSignal): Promise<string> {
  if (!isTraced()) return send(server, path, input, signal);
  const attributes = {
    'http.request.method': 'POST',
    'server.address': new URL(server.url).hostname,
    'url.template': `/v1/${path}`,
  };
  return inSpan({ name: `POST /v1/${path}`, kind: 'client', attributes }, () => send(server, path, input, signal));
}

async function send(server: OpenAiServer, path: string, input: object, signal?: AbortSignal): Promise<string> {
  const { name, url, apiKey, timeoutMs, maxResponseBytes: maxAnswerBytes, errors } = server;
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let body: string;
  try {
    response = await fetch(apiUrl(url, path), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(apiKey && { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify(input),
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    });
    body = await readBounded(response, maxAnswerBytes);
  } catch (error) {
    signal?.throwIfAborted();
    throw new errors.Unavailable(`The ${name} ${failureText(error, timeout.aborted, server)}.`, { cause: error });
  }
  if (response.ok) return body;
  throw errorOf(server, response, body);
}

function failureText(
  error: unknown,
  isLate: boolean,
  { timeoutMs, maxResponseBytes: maxAnswerBytes }: OpenAiServer,
): string {
  if (isLate) return `gave no answer within ${timeoutMs} ms`;
  if (error instanceof ResponseTooLarge) return `answered with more than ${maxAnswerBytes} bytes`;
  return `cannot be reached${codeOf(error)}`;
}

function errorOf({ name, apiKey, errors }: OpenAiServer, { status, headers }: Response, body: string): Error {
  if (status < 400) {
    return new errors.Unavailable(`The ${name} answered ${status}, a redirect. Set the address that it leads to.`);
  }
  const message = `The ${name} answered ${status}: ${messageOf(body, apiKey)}`;
  if (isQuotaUsedUp(body)) return new errors.Unavailable(message);
  if (status === 429 || status === 503) return new errors.Busy(message, retryAfterMs(headers.get('retry-after')));
  return refusals.includes(status) ? new errors.Refused(message) : new errors.Unavailable(message);
}

/** OpenAI answers 429 also when the quota is used up, which no short wait resolves. */
function isQuotaUsedUp(body: string): boolean {
  const { error } = (parseJson(body) ?? {}) as { error?: { code?: unknown; type?: unknown } | null };
  return [error?.code, error?.type].includes('insufficient_quota');
}
