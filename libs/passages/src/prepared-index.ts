import { unlessAborted } from '@parley/background/unless-aborted';
import { unavailable } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import type {
  KnownModel,
  PassageHit,
  PassageIndex,
  PassagePoint,
  PassageQuery,
  PassageTerms,
  WordQuery,
} from './passage-index';

/** Shorter than the 10 s deadline of search operations, so that the caller receives the 503 in time. */
const defaultSearchTimeoutMs = 4_000;

/** Prepares an index before its first use, and retries on the next use after a failure. */
export class PreparedIndex implements PassageIndex {
  private preparation?: Promise<void>;

  /**
   * @param learnModel resolves when the embedder knows its dimensions, which the index needs for its name and schema.
   * @param searchTimeoutMs timeout of a search, including the preparation.
   */
  constructor(
    private readonly index: PassageIndex,
    private readonly learnModel: () => Promise<void>,
    private readonly searchTimeoutMs = defaultSearchTimeoutMs,
  ) {}

  ready(): Promise<void> {
    this.preparation = undefined;
    return this.prepared();
  }

  async write(botId: string, points: PassagePoint[], within?: Sql): Promise<void> {
    await this.prepared();
    await this.index.write(botId, points, within);
  }

  async replaceTerms(botId: string, points: PassageTerms[], within?: Sql): Promise<void> {
    await this.prepared();
    await this.index.replaceTerms(botId, points, within);
  }

  async retag(botId: string, fileId: string, tags: Record<string, string>, within?: Sql): Promise<void> {
    await this.prepared();
    await this.index.retag(botId, fileId, tags, within);
  }

  async removeFile(botId: string, fileId: string, exceptVersion: string | null, within?: Sql): Promise<void> {
    await this.prepared();
    await this.index.removeFile(botId, fileId, exceptVersion, within);
  }

  async removeFiles(botId: string, fileIds: string[]): Promise<void> {
    await this.prepared();
    await this.index.removeFiles(botId, fileIds);
  }

  search(botId: string, query: PassageQuery): Promise<PassageHit[]> {
    return this.within(query, (signal) => this.index.search(botId, { ...query, signal }));
  }

  searchWords(botId: string, model: KnownModel, query: WordQuery): Promise<PassageHit[]> {
    return this.within(query, (signal) => this.index.searchWords(botId, model, { ...query, signal }));
  }

  async dropTenant(botId: string): Promise<void> {
    await this.prepared();
    await this.index.dropTenant(botId);
  }

  async dropModel(botId: string, model: KnownModel): Promise<void> {
    await this.prepared();
    await this.index.dropModel(botId, model);
  }

  async count(botId: string): Promise<number> {
    await this.prepared();
    return this.index.count(botId);
  }

  private async within<T>(query: WordQuery, search: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const deadline = AbortSignal.timeout(this.searchTimeoutMs);
    const signal = query.signal ? AbortSignal.any([query.signal, deadline]) : deadline;
    try {
      await unlessAborted(signal, this.prepared());
      return await search(signal);
    } catch (error) {
      query.signal?.throwIfAborted();
      if (!deadline.aborted) throw error;
      throw unavailable('The passage index does not answer in time. Try again in a moment.', error);
    }
  }

  private prepared(): Promise<void> {
    this.preparation ??= this.prepare().catch((error: unknown) => {
      this.preparation = undefined;
      throw error;
    });
    return this.preparation;
  }

  private async prepare(): Promise<void> {
    await this.learnModel();
    await this.index.ready();
  }
}
