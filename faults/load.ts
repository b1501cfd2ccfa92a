import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { document, type Ledger, type PromisedFile, sha256 } from './checker/ledger';
import { KeepAliveClient } from './keep-alive-client';

export interface LoadTarget {
  url: string;
  token: string;
  workspaceId: string;
}

export interface LoadOptions {
  /** Begun at this pace, whatever becomes of those before. */
  requestsPerSecond: number;
  /** Whether uploads ask to be indexed. */
  index?: boolean;
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

const clientCount = 8;
const paragraphs = 3;

/**
 * Clients at work: they make files, upload, download, read, list and delete at a steady pace, and write down what was
 * acknowledged. Each keeps its connections, and repeats nothing.
 */
export class Load {
  private readonly stopping = new AbortController();
  private readonly report: LoadReport = { answered: 0, failures: [] };
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly clients = Array.from({ length: clientCount }, () => new KeepAliveClient());
  private readonly ours: PromisedFile[] = [];
  private readonly name = `load-${randomUUID()}`;
  private running?: Promise<void>;
  private count = 0;

  constructor(
    private readonly target: LoadTarget,
    private readonly ledger: Ledger,
    private readonly botId: string,
    private readonly options: LoadOptions,
  ) {}

  /** Begins, and resolves when the first upload was acknowledged. */
  async start(): Promise<void> {
    await this.upload();
    if (this.ours.length === 0) throw new Error(`The first upload failed: ${JSON.stringify(this.report.failures)}`);
    this.running = this.run();
  }

  get answered(): number {
    return this.report.answered;
  }

  get failures(): Failure[] {
    return this.report.failures;
  }

  /** Waits for every answer that is still to come. */
  async stop(): Promise<LoadReport> {
    this.stopping.abort();
    await this.running;
    await Promise.all(this.underWay);
    this.clients.forEach((client) => client.close());
    return this.report;
  }

  private async run(): Promise<void> {
    const started = performance.now();
    for (let begun = 0; !this.stopping.signal.aborted; begun += 1) {
      const due = started + (begun * 1000) / this.options.requestsPerSecond;
      if (due > performance.now()) await sleep(due - performance.now());
      const work = this.one(begun).finally(() => this.underWay.delete(work));
      this.underWay.add(work);
    }
  }

  /** One request for most turns; an upload is two. */
  private async one(turn: number): Promise<void> {
    const file = this.ours[turn % this.ours.length]!;
    if (turn % 8 === 0) await this.upload();
    else if (turn % 8 === 4) await this.ask('GET', '/v1/files?limit=5');
    else if (turn % 8 === 6) await this.ask('GET', `/v1/admin/bots/${this.botId}`);
    else if (turn % 8 === 2) await this.download(file);
    else if (turn % 64 === 33) await this.remove();
    else await this.ask('GET', `/v1/files/${file.id}`);
  }

  private async upload(): Promise<void> {
    const name = `load${(this.count += 1)}`;
    const { text, content } = document(name, paragraphs);
    const index = this.options.index ?? false;
    const declaration = { key: `${name}.txt`, size: text.length, index, contentType: 'text/plain' };
    const answer = await this.ask('PUT', '/v1/files', declaration);
    if (!answer) return;
    const { id, uploadUrl } = (answer as { file: { id: string; uploadUrl: string } }).file;
    const file = this.ledger.declared({ botId: this.botId, id, index });
    const acknowledge = this.ledger.attempt(file, content);
    if ((await this.send('PUT', uploadUrl, text, { 'content-type': 'text/plain' })) === undefined) return;
    acknowledge();
    this.ours.push(file);
  }

  /** What was acknowledged is what comes back. */
  private async download({ id, state }: PromisedFile): Promise<void> {
    const answer = await this.ask('GET', `/v1/files/${id}`);
    if (!answer || typeof state === 'string') return;
    const { url } = (answer as { file: { url: string } }).file;
    const content = await this.send('GET', url, undefined, {});
    if (content !== undefined && sha256(content) !== state.sha256) {
      throw new Error(`${id} came back with another content than was acknowledged.`);
    }
  }

  /** Takes out a file that nobody else of this load reads any more. */
  private async remove(): Promise<void> {
    if (this.ours.length < 20) return;
    const [file] = this.ours.splice(1, 1);
    // Reads that are under way still mean it.
    await Promise.all([...this.underWay]);
    const acknowledge = this.ledger.attempt(file!, 'deleted');
    if (await this.ask('DELETE', `/v1/files/${file!.id}`)) acknowledge();
  }

  /** The answer; undefined, and a failure in the report, for anything but success. */
  private async ask(method: string, path: string, body?: object): Promise<unknown> {
    const { url, token, workspaceId } = this.target;
    const answer = await this.send(method, `${url}${path}`, body && JSON.stringify(body), {
      authorization: `Bearer ${token}`,
      'x-workspace-id': workspaceId,
      'x-bot-id': this.botId,
      ...(body ? { 'content-type': 'application/json' } : {}),
    });
    return answer === undefined ? undefined : (JSON.parse(answer) as unknown);
  }

  /** The body of the answer; undefined, and a failure in the report, for anything but success. */
  private async send(
    method: string,
    url: string,
    body: string | undefined,
    headers: Record<string, string>,
  ): Promise<string | undefined> {
    this.count += 1;
    const requestId = `${this.name}-${this.count}`;
    const begunAt = Date.now();
    const failed = (kind: Failure['kind'], outcome: string, retryAfter: string | null = null) => {
      const request = `${method} ${new URL(url).pathname.replace(/file_\w+/, '{id}')}`;
      const endedAt = Date.now();
      this.report.failures.push({ request, requestId, kind, outcome, retryAfter, tookMs: endedAt - begunAt, endedAt });
    };
    try {
      const client = this.clients[this.count % clientCount]!;
      const answer = await client.send({ method, url, body, headers: { ...headers, 'x-request-id': requestId } });
      if (answer.status < 300) {
        this.report.answered += 1;
        return answer.body;
      }
      failed('answered', `${answer.status} ${answer.body.slice(0, 200)}`, answer.headers['retry-after'] ?? null);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      failed(code === 'ECONNREFUSED' ? 'refused' : 'broken', message);
    }
    return undefined;
  }
}
