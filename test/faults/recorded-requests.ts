import { randomUUID } from 'node:crypto';
import { KeepAliveClient } from './keep-alive-client';

export interface LoadTarget {
  url: string;
  token: string;
  workspaceId: string;
}

/** Request without a complete or correct answer. */
export interface Failure {
  request: string;
  requestId: string;
  /** A complete answer; no connection; or a connection that broke before the answer. */
  kind: 'answered' | 'refused' | 'broken';
  outcome: string;
  retryAfter: string | null;
  tookMs: number;
  /** Milliseconds since the epoch. */
  endedAt: number;
}

export interface LoadReport {
  answered: number;
  failures: Failure[];
}

export interface Sending {
  method: string;
  url: string;
  body?: string;
  headers: Record<string, string>;
}

const clientCount = 8;

/** Requests over keep-alive connections without retries, with recorded failures. */
export class RecordedRequests {
  readonly report: LoadReport = { answered: 0, failures: [] };
  private readonly clients = Array.from({ length: clientCount }, () => new KeepAliveClient());
  private readonly name = `load-${randomUUID()}`;
  private count = 0;

  constructor(
    private readonly target: LoadTarget,
    private readonly botId: string,
  ) {}

  /** Sends a request to the gateway. Returns the answer, or the failure, which is also recorded. */
  async ask(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = {},
  ): Promise<{ answer: unknown } | { failure: Failure }> {
    const { url, token, workspaceId } = this.target;
    const result = await this.send({
      method,
      url: `${url}${path}`,
      body: body && JSON.stringify(body),
      headers: {
        authorization: `Bearer ${token}`,
        'x-workspace-id': workspaceId,
        'x-bot-id': this.botId,
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...headers,
      },
    });
    return 'failure' in result ? result : { answer: JSON.parse(result.body) as unknown };
  }

  /** Sends a request. Returns the body, or the failure, which is also recorded. */
  async send({ method, url, body, headers }: Sending): Promise<{ body: string } | { failure: Failure }> {
    this.count += 1;
    const requestId = `${this.name}-${this.count}`;
    const begunAt = Date.now();
    const failed = (kind: Failure['kind'], outcome: string, retryAfter: string | null = null) => {
      const request = `${method} ${new URL(url).pathname.replace(/(file|conv|table)_\w+/, '{id}')}`;
      const endedAt = Date.now();
      const failure = { request, requestId, kind, outcome, retryAfter, tookMs: endedAt - begunAt, endedAt };
      this.report.failures.push(failure);
      return { failure };
    };
    try {
      const client = this.clients[this.count % clientCount]!;
      const answer = await client.send({ method, url, body, headers: { ...headers, 'x-request-id': requestId } });
      if (answer.status < 300) {
        this.report.answered += 1;
        return { body: answer.body };
      }
      return failed('answered', `${answer.status} ${answer.body.slice(0, 200)}`, answer.headers['retry-after'] ?? null);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return failed(code === 'ECONNREFUSED' ? 'refused' : 'broken', message);
    }
  }

  /** Records a successful answer with wrong content. */
  isWrong(request: string, outcome: string): void {
    this.report.answered -= 1;
    this.report.failures.push({
      request,
      requestId: `${this.name}-${this.count}`,
      kind: 'answered',
      outcome,
      retryAfter: null,
      tookMs: 0,
      endedAt: Date.now(),
    });
  }

  close(): void {
    this.clients.forEach((client) => client.close());
  }
}
