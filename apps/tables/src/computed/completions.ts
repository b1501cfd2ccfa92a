import { AnswerTooLong, codeOf, messageOf, parseJson, readBounded, retryAfterMs } from '@parley/openai/answer';
import { TablesConfig } from '../config';
import { Injectable } from '@nestjs/common';

const maxAnswerBytes = 1024 * 1024;

/** The server asks to slow down (429, 503): backpressure, not failure. */
export class CompletionsBusy extends Error {
  override readonly name = 'CompletionsBusy';
  constructor(
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}

/** There is no completion, and asking again would not help until somebody does what the message says. */
export class CompletionsRefused extends Error {
  override readonly name = 'CompletionsRefused';
}

/** No usable answer (5xx, timeout, connection refused, garbage): worth another attempt later. */
export class CompletionsUnavailable extends Error {
  override readonly name = 'CompletionsUnavailable';
}

/** Client of any server that answers `POST /v1/chat/completions` as OpenAI does. Never retries: whoever calls decides. */
@Injectable()
export class Completions {
  constructor(private readonly config: TablesConfig) {}

  /** What the model answers. Throws CompletionsBusy, CompletionsRefused or CompletionsUnavailable. */
  async complete(model: string, system: string, prompt: string, signal?: AbortSignal): Promise<string> {
    const { completionsUrl, completionsApiKey, completionsTimeoutMs } = this.config;
    if (!completionsUrl)
      throw new CompletionsRefused(
        'No completion server is configured: set COMPLETIONS_URL to one that answers as OpenAI does.',
      );
    const timeout = AbortSignal.timeout(completionsTimeoutMs);
    let response: Response;
    let body: string;
    try {
      response = await fetch(`${completionsUrl.replace(/\/v1$/, '')}/v1/chat/completions`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          ...(completionsApiKey && { authorization: `Bearer ${completionsApiKey}` }),
        },
        body: JSON.stringify({
          model,
          messages: [
            { role: 'system', content: system },
            { role: 'user', content: prompt },
          ],
        }),
        redirect: 'manual',
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      });
      body = await readBounded(response, maxAnswerBytes);
    } catch (error) {
      signal?.throwIfAborted();
      if (timeout.aborted) throw unavailable(`gave no answer within ${completionsTimeoutMs} ms`, error);
      if (error instanceof AnswerTooLong) throw unavailable(`answered with more than ${maxAnswerBytes} bytes`, error);
      throw unavailable(`cannot be reached${codeOf(error)}`, error);
    }
    if (!response.ok) throw this.toError(response, body);
    return contentOf(body);
  }

  private toError({ status, headers }: Response, body: string): Error {
    const message = `The completion server answered ${status}: ${messageOf(body, this.config.completionsApiKey)}`;
    if (isQuotaUsedUp(body)) return new CompletionsRefused(message);
    if (status === 429 || status === 503) return new CompletionsBusy(message, retryAfterMs(headers.get('retry-after')));
    if (status >= 500 || status === 408) return new CompletionsUnavailable(message);
    return new CompletionsRefused(message);
  }
}

/** OpenAI answers 429 as well when nothing is left to be paid from, however long one waits. */
function isQuotaUsedUp(body: string): boolean {
  const { error } = (parseJson(body) ?? {}) as { error?: { code?: unknown; type?: unknown } | null };
  return [error?.code, error?.type].includes('insufficient_quota');
}

function contentOf(body: string): string {
  const answer = parseJson(body) as { choices?: { message?: { content?: unknown } }[] } | null;
  const content = Array.isArray(answer?.choices) ? answer.choices[0]?.message?.content : undefined;
  if (typeof content !== 'string') throw unavailable('answered with something that is not a completion');
  return content.trim();
}

function unavailable(what: string, cause?: unknown): CompletionsUnavailable {
  return new CompletionsUnavailable(`The completion server ${what}.`, { cause });
}
