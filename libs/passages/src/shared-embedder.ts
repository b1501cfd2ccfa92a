import { BundledEmbedder } from './bundled-embedder';
import { type Embedder, EmbedderUnavailable } from './embedder';

interface Loaded {
  embedder: BundledEmbedder;
  users: number;
}

const loaded = new Map<number | undefined, Loaded>();

/**
 * Reference-counted BundledEmbedder: all services of the process with the same number of threads share its threads and
 * models until the last one closes.
 */
export class SharedEmbedder implements Embedder {
  private readonly closing = new AbortController();

  static open(threads?: number): SharedEmbedder {
    const shared = loaded.get(threads) ?? { embedder: new BundledEmbedder({ threads }), users: 0 };
    shared.users++;
    loaded.set(threads, shared);
    return new SharedEmbedder(shared, threads);
  }

  private constructor(
    private readonly shared: Loaded,
    private readonly threads: number | undefined,
  ) {}

  get model(): string {
    return this.shared.embedder.model;
  }

  get dimensions(): number {
    return this.shared.embedder.dimensions;
  }

  get leastScore(): number | undefined {
    return this.shared.embedder.leastScore;
  }

  async ready(): Promise<void> {
    await this.embed(['ready']);
  }

  async embed(texts: string[], signal?: AbortSignal): Promise<Float32Array[]> {
    return this.shared.embedder.embed(texts, this.untilClosed(signal));
  }

  async embedQuery(query: string, signal?: AbortSignal): Promise<Float32Array> {
    return this.shared.embedder.embedQuery(query, this.untilClosed(signal));
  }

  async close(): Promise<void> {
    if (this.closing.signal.aborted) return;
    this.closing.abort(new EmbedderUnavailable('The embedder is closed.'));
    if (--this.shared.users > 0) return;
    loaded.delete(this.threads);
    await this.shared.embedder.close();
  }

  private untilClosed(signal?: AbortSignal): AbortSignal {
    const closed = this.closing.signal;
    return signal ? AbortSignal.any([closed, signal]) : closed;
  }
}
