import { randomUUID } from 'node:crypto';
import { KeepAliveClient } from './keep-alive-client';

export interface LoadTarget {
  url: string;
  token: string;
  workspaceId: string;
}

/** A request that had no complete answer, or another one than it should have. */
export interface Failure {
  request: string;
  requestId: string;
  /** A whole answer came; no connection was to be had; or the connection broke before there was an answer. */
  kind: 'answered' | 'refused' | 'broken';
  /** The status and the answer, or what broke. */
  outcome: string;
  retryAfter: string | null;
  tookMs: number;
  /** By the clock of `Date.now()`. */
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

/** Requests of clients that keep their connections and repeat nothing, and what became of each. */
export class NotedRequests {
  readonly report: LoadReport = { answered: 0, failures: [] };
  private readonly clients = Array.from({ length: clientCount }, () => new KeepAliveClient());
  private readonly name = `load-${randomUUID()}`;
  private count = 0;

  constructor(
    private readonly target: LoadTarget,
    private readonly botId: string,
  ) {}

  /** The answer to a request to the gateway; a failure, which is in the report too, for anything but success. */
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

  /** The body of the answer; a failure, which is in the report too, for anything but success. */
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

  /** Notes that a good answer said something wrong. */
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
