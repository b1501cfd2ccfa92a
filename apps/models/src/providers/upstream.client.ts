import { Agent as HttpAgent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { isRecord } from '@parley/contracts/is-record';
import { apiUrl, messageOf, parseJson, retryAfterMs } from '@parley/openai/response';
import { createParser } from 'eventsource-parser';
import type { Provider } from './provider';
import { answerByScript } from './script';
import type { UpstreamAnswer, UpstreamRequest } from './upstream';
import { UpstreamError } from './upstream-error';

/** Characters of a whole stream, and of one of its events. */
const maxStreamLength = 64_000_000;
const maxEventLength = 4_000_000;
const maxErrorLength = 64_000;
/** Idle connections are closed before the 5 s after which many servers do, as a request might meet that. */
const idleMs = 4_000;
/** Time for the end of a response after its last event. */
const lastBytesMs = 1_000;
const refusals = [400, 413, 422];
const filterCodes = ['content_filter', 'content_policy_violation', 'ResponsibleAIPolicyViolation'];

/**
 * HTTP client of the providers: their addresses are the operator's. Bounds time and size of what they send, and never
 * repeats a request.
 */
@Injectable()
export class UpstreamClient implements OnApplicationShutdown {
  /** Longest time of an answer, as a multiple of the timeout: half an hour by default. */
  longestTimeouts = 30;

  private readonly http = new HttpAgent({ keepAlive: true, timeout: idleMs });
  private readonly https = new HttpsAgent({ keepAlive: true, timeout: idleMs });

  /** Throws UpstreamError, or the reason of the signal. */
  async send(provider: Provider, request: UpstreamRequest): Promise<UpstreamAnswer> {
    if (provider.problem) throw new UpstreamError('failed', `The provider "${provider.name}" ${provider.problem}.`);
    if (provider.script) return answerByScript(provider.script, request);
    const exchange = new UpstreamExchange(provider, request, provider.timeoutMs * this.longestTimeouts);
    const response = await exchange.open(this.http, this.https);
    const status = response.statusCode ?? 0;
    if (status < 200 || status >= 300) throw await exchange.failure(response);
    const isStream = (response.headers['content-type'] ?? '').startsWith('text/event-stream');
    return {
      isStream,
      text: (maxLength) => exchange.text(response, maxLength),
      events: () => exchange.events(response),
      chunks: (maxBytes) => exchange.chunks(response, maxBytes),
    };
  }

  onApplicationShutdown(): void {
    this.http.destroy();
    this.https.destroy();
  }
}

class UpstreamExchange {
  private request?: ClientRequest;
  private isDone = false;

  constructor(
    private readonly provider: Provider,
    private readonly options: UpstreamRequest,
    private readonly longestMs: number,
  ) {}

  async open(http: HttpAgent, https: HttpsAgent): Promise<IncomingMessage> {
    const { path, method = 'POST', signal, firstByteMs = this.provider.timeoutMs } = this.options;
    const sent = await bodyOf(this.options);
    signal.throwIfAborted();
    const opened = new Promise<IncomingMessage>((resolve, reject) => {
      const url = new URL(apiUrl(this.provider.url, path));
      const send = url.protocol === 'https:' ? requestHttps : requestHttp;
      const request = send(url, {
        method,
        agent: url.protocol === 'https:' ? https : http,
        headers: {
          accept: 'application/json, text/event-stream',
          ...(sent && { 'content-type': sent.type, 'content-length': String(Buffer.byteLength(sent.content)) }),
          ...(this.provider.key && { authorization: `Bearer ${this.provider.key}` }),
        },
      });
      this.request = request;
      const late = setTimeout(
        () => request.destroy(this.error('slow', `gave no answer within ${firstByteMs} ms`)),
        firstByteMs,
      );
      const abort = () => request.destroy(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      request.once('close', () => {
        clearTimeout(late);
        signal.removeEventListener('abort', abort);
      });
      request.once('response', (response) => {
        clearTimeout(late);
        resolve(response);
      });
      request.on('error', reject);
      request.end(sent?.content);
    });
    // Node throws at once for a URL or a key that it cannot send.
    return opened.catch((error: unknown) => {
      throw this.explained(error);
    });
  }

  async failure(response: IncomingMessage): Promise<UpstreamError> {
    const status = response.statusCode ?? 0;
    const body = await this.text(response, maxErrorLength);
    const said = `answered ${status}: ${messageOf(body, this.provider.key)}`;
    const code = codeOf(body);
    if (code.some((each) => filterCodes.includes(each))) return this.error('filtered', said);
    if (code.includes('insufficient_quota')) return this.error('failed', said);
    if (status === 429 || status === 503) {
      const pauseMs = retryAfterMs(response.headers['retry-after'] ?? null);
      return new UpstreamError('busy', `The provider "${this.provider.name}" ${said}.`, {}, pauseMs);
    }
    return this.error(refusals.includes(status) ? 'refused' : 'failed', said);
  }

  async text(response: IncomingMessage, maxLength: number): Promise<string> {
    let text = '';
    for await (const part of this.texts(response, maxLength)) text += part;
    return text;
  }

  async *events(response: IncomingMessage): AsyncGenerator<string[]> {
    let batch: string[] = [];
    const parser = createParser({
      maxBufferSize: maxEventLength,
      onEvent: ({ data }) => {
        if (data === '[DONE]') this.isDone = true;
        else batch.push(data);
      },
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') throw this.error('failed', 'sent an event that is too large');
      },
    });
    for await (const part of this.texts(response, maxStreamLength)) {
      parser.feed(part);
      if (batch.length > 0) yield batch;
      batch = [];
      if (this.isDone) return;
    }
  }

  chunks(response: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
    return this.parts<Buffer>(response, maxBytes, 'bytes');
  }

  private texts(response: IncomingMessage, maxLength: number): AsyncGenerator<string> {
    return this.parts<string>(response.setEncoding('utf8'), maxLength, 'characters');
  }

  /** Ends the exchange when the reader stops, when nothing arrives for the timeout, and above the limits of size and time. */
  private async *parts<Part extends string | Buffer>(
    response: IncomingMessage,
    maxLength: number,
    unit: string,
  ): AsyncGenerator<Part> {
    const { timeoutMs } = this.provider;
    const late = setTimeout(
      () => response.destroy(this.error('slow', `sent nothing more for ${timeoutMs} ms`)),
      timeoutMs,
    );
    const endless = setTimeout(
      () => response.destroy(this.error('slow', `had not ended its answer after ${this.longestMs} ms`)),
      this.longestMs,
    );
    let size = 0;
    try {
      for await (const part of response as AsyncIterable<Part>) {
        late.refresh();
        size += part.length;
        if (size > maxLength) throw this.error('failed', `answered with more than ${maxLength} ${unit}`);
        yield part;
      }
    } catch (error) {
      throw this.explained(error);
    } finally {
      clearTimeout(late);
      clearTimeout(endless);
      if (!response.complete) this.leave(response);
    }
  }

  /** The connection of a stream that is done can be used again once the response has ended. */
  private leave(response: IncomingMessage): void {
    if (!this.isDone) return void this.request?.destroy();
    const late = setTimeout(() => this.request?.destroy(), lastBytesMs).unref();
    response.once('close', () => clearTimeout(late)).resume();
  }

  private explained(error: unknown): Error {
    const { signal } = this.options;
    if (signal.aborted) return signal.reason as Error;
    if (error instanceof UpstreamError) return error;
    const code = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    return this.error('failed', `cannot be reached or broke off (${code})`, error);
  }

  private error(failure: UpstreamError['failure'], what: string, cause?: unknown): UpstreamError {
    return new UpstreamError(failure, `The provider "${this.provider.name}" ${what}.`, { cause });
  }
}

async function bodyOf({
  body,
  form,
}: UpstreamRequest): Promise<{ type: string; content: string | Buffer } | undefined> {
  if (body) return { type: 'application/json', content: JSON.stringify(body) };
  if (!form) return undefined;
  const encoded = new Response(form);
  return { type: encoded.headers.get('content-type')!, content: Buffer.from(await encoded.arrayBuffer()) };
}

function codeOf(body: string): string[] {
  const parsed = parseJson(body);
  const error = isRecord(parsed) ? parsed['error'] : undefined;
  if (!isRecord(error)) return [];
  const inner = isRecord(error['innererror']) ? error['innererror']['code'] : undefined;
  return [error['code'], error['type'], inner].filter((each) => typeof each === 'string');
}
