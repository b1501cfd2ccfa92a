import { Inject, Injectable } from '@nestjs/common';
import { type EmbeddedPassage, toPoints } from '../../../files/src/store/embedded-texts';
import { IndexModelsRepository } from '../../../files/src/store/index-models.repository';
import type { NextModelService } from '../../../files/src/store/next-model.service';
import type { ContentVersion } from '../../../files/src/store/passages.repository';
import { nextModel } from '../../../files/src/store/tokens';
import { type Embedder, EmbedderUnavailable } from '@parley/passages/embedder';
import type { PassageIndex } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type { Chunk } from './chunker';

type Tags = Record<string, string>;

export interface EmbeddedChunks {
  chunks: Chunk[];
  texts: string[];
  /** Vectors of the active model. */
  vectors: Float32Array[];
}

/** Embeds texts, and writes points to the indexes of the active model and of the next one during a migration. */
@Injectable()
export class PointsService {
  private readonly registeredModels = new Set<string>();

  constructor(
    @Inject(embedder) private readonly active: Embedder,
    @Inject(passageIndex) private readonly index: PassageIndex,
    private readonly models: IndexModelsRepository,
    @Inject(nextModel) private readonly next: NextModelService | null,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  get activeModel(): string {
    return this.active.model;
  }

  /** Null without a migration, and for a while after the next model has failed. */
  usableNextModel(): NextModelService | null {
    return this.next?.isResting ? null : this.next;
  }

  embed(texts: string[], signal: AbortSignal): Promise<Float32Array[]> {
    return this.active.embed(texts, signal);
  }

  async writeActive(version: ContentVersion, tags: Tags, { chunks, texts, vectors }: EmbeddedChunks): Promise<void> {
    await this.register(this.active);
    await this.index.write(version.botId, await toPoints(version, tags, embedded(chunks, texts, vectors)));
  }

  /**
   * Writes the points of the next model. Never fails a file, nor delays it for long: the re-index adds missing points.
   */
  async writeNext(
    next: NextModelService,
    version: ContentVersion,
    tags: Tags,
    { chunks, texts }: EmbeddedChunks,
    signal: AbortSignal,
  ): Promise<boolean> {
    try {
      const vectors = await next.embedder.embed(texts, signal);
      await this.register(next.embedder);
      await next.index.write(version.botId, await toPoints(version, tags, embedded(chunks, texts, vectors)));
      return true;
    } catch (error) {
      signal.throwIfAborted();
      next.rest();
      this.platform.logger.warn(
        { ...version, model: next.model, err: error },
        'the next embedding model failed, the file is indexed without it',
      );
      return false;
    }
  }

  async removeVersionsExcept({ botId, fileId }: ContentVersion, keptVersion: string | null): Promise<void> {
    await this.index.removeFile(botId, fileId, keptVersion);
  }

  /** Registers a model before its first point is written. */
  private async register({ model, dimensions }: Embedder): Promise<void> {
    if (this.registeredModels.has(model)) return;
    if (!(await this.models.registerModel({ model, dimensions }))) {
      throw new EmbedderUnavailable(
        `The embedding model "${model}" returned vectors of ${dimensions} dimensions, but earlier vectors of this model have another number of dimensions. Configure the earlier model again, or migrate to a model with another name.`,
      );
    }
    this.registeredModels.add(model);
  }
}

function embedded(chunks: Chunk[], texts: string[], vectors: Float32Array[]): EmbeddedPassage[] {
  return chunks.map(({ position }, i) => ({ position, text: texts[i]!, vector: vectors[i]! }));
}
