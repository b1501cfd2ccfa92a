import type { Sql } from '@parley/database/database';
import type { KnownModel, PassageHit, PassageIndex, PassagePoint, PassageQuery } from './passage-index';

/** Makes an index ready before its first use, and tries again at the next use when that fails. */
export class PreparedIndex implements PassageIndex {
  private preparation?: Promise<void>;

  /** @param learnModel resolves once the embedder knows its dimensions, which name and shape the index. */
  constructor(
    private readonly index: PassageIndex,
    private readonly learnModel: () => Promise<void>,
  ) {}

  ready(): Promise<void> {
    this.preparation ??= this.prepare().catch((error: unknown) => {
      this.preparation = undefined;
      throw error;
    });
    return this.preparation;
  }

  async write(botId: string, points: PassagePoint[], within?: Sql): Promise<void> {
    await this.ready();
    try {
      await this.index.write(botId, points, within);
    } catch (error) {
      // A server that was replaced by an empty one lacks what was prepared.
      this.preparation = undefined;
      throw error;
    }
  }

  async retag(botId: string, fileId: string, tags: Record<string, string>, within?: Sql): Promise<void> {
    await this.ready();
    await this.index.retag(botId, fileId, tags, within);
  }

  async removeFile(botId: string, fileId: string, exceptVersion: string | null, within?: Sql): Promise<void> {
    await this.ready();
    await this.index.removeFile(botId, fileId, exceptVersion, within);
  }

  async removeFiles(botId: string, fileIds: string[]): Promise<void> {
    await this.ready();
    await this.index.removeFiles(botId, fileIds);
  }

  async search(botId: string, query: PassageQuery): Promise<PassageHit[]> {
    await this.ready();
    return this.index.search(botId, query);
  }

  async dropTenant(botId: string): Promise<void> {
    await this.ready();
    await this.index.dropTenant(botId);
  }

  async dropModel(botId: string, model: KnownModel): Promise<void> {
    await this.ready();
    await this.index.dropModel(botId, model);
  }

  async count(botId: string): Promise<number> {
    await this.ready();
    return this.index.count(botId);
  }

  private async prepare(): Promise<void> {
    await this.learnModel();
    await this.index.ready();
  }
}
