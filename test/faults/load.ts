import { setTimeout as sleep } from 'node:timers/promises';
import { waitFor } from '@parley/testing/wait-for';
import { document, type Ledger, type PromisedFile, sha256 } from './checker/ledger';
import { type Failure, type LoadReport, type LoadTarget, RecordedRequests } from './recorded-requests';

export interface LoadOptions {
  /** Open-loop pace: does not depend on earlier requests. */
  requestsPerSecond: number;
  /** Indexes every n-th upload; default: none. */
  indexEvery?: number;
}

const paragraphs = 3;

/**
 * Clients that create, upload, download, read, list and delete files at a steady pace, without retries, and record what
 * was acknowledged.
 */
export class Load {
  private readonly stopping = new AbortController();
  private readonly requests: RecordedRequests;
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly ours: PromisedFile[] = [];
  private running?: Promise<void>;
  private count = 0;

  constructor(
    target: LoadTarget,
    private readonly ledger: Ledger,
    private readonly botId: string,
    private readonly options: LoadOptions,
  ) {
    this.requests = new RecordedRequests(target, botId);
  }

  async start(): Promise<void> {
    await this.upload();
    if (this.ours.length === 0) throw new Error(`The first upload failed: ${JSON.stringify(this.failures)}`);
    this.running = this.run();
  }

  get answered(): number {
    return this.requests.report.answered;
  }

  get failures(): Failure[] {
    return this.requests.report.failures;
  }

  async answersMore(count: number): Promise<void> {
    const enough = this.answered + count;
    await waitFor(() => this.answered >= enough, Boolean, 60_000);
  }

  async failsMore(count: number): Promise<void> {
    const enough = this.failures.length + count;
    await waitFor(() => this.failures.length >= enough, Boolean, 60_000);
  }

  async stop(): Promise<LoadReport> {
    this.stopping.abort();
    await this.running;
    await Promise.all(this.underWay);
    this.requests.close();
    return this.requests.report;
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

  /** One request in most turns; an upload is two. */
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
    const { indexEvery } = this.options;
    const index = indexEvery !== undefined && this.count % indexEvery === 0;
    const declaration = { key: `${name}.txt`, size: text.length, index, contentType: 'text/plain' };
    const answer = await this.ask('PUT', '/v1/files', declaration);
    if (!answer) return;
    const { id, uploadUrl } = (answer as { file: { id: string; uploadUrl: string } }).file;
    const file = this.ledger.declared({ botId: this.botId, id, index });
    const acknowledge = this.ledger.attempt(file, content);
    const headers = { 'content-type': 'text/plain' };
    const sent = await this.requests.send({ method: 'PUT', url: uploadUrl, body: text, headers });
    if ('failure' in sent) return;
    acknowledge();
    this.ours.push(file);
  }

  private async download({ id, state }: PromisedFile): Promise<void> {
    const answer = await this.ask('GET', `/v1/files/${id}`);
    if (!answer || typeof state === 'string') return;
    const { url } = (answer as { file: { url: string } }).file;
    const got = await this.requests.send({ method: 'GET', url, headers: {} });
    if ('body' in got && sha256(got.body) !== state.sha256) {
      this.requests.isWrong('GET of a content', `${id} has another content than acknowledged`);
    }
  }

  /** Deletes a file that no other request of this load reads. */
  private async remove(): Promise<void> {
    if (this.ours.length < 20) return;
    const [file] = this.ours.splice(1, 1);
    // Running reads may still use it.
    await Promise.all([...this.underWay]);
    const acknowledge = this.ledger.attempt(file!, 'deleted');
    if (await this.ask('DELETE', `/v1/files/${file!.id}`)) acknowledge();
  }

  /** Answer; undefined for any error, which is recorded in the report. */
  private async ask(method: string, path: string, body?: object): Promise<unknown> {
    const result = await this.requests.ask(method, path, body);
    return 'answer' in result ? result.answer : undefined;
  }
}
