import { Inject, Injectable } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import { embeddedTexts, toPoint } from '@parley/file-store/embedded-texts';
import { blobOf, type FileEntity } from '@parley/file-store/file.entity';
import { IndexModelsRepository } from '@parley/file-store/index-models.repository';
import type { TakenJob } from '@parley/file-store/jobs.repository';
import type { NextModelService } from '@parley/file-store/next-model.service';
import { type ContentVersion, PassagesRepository } from '@parley/file-store/passages.repository';
import { blobStore, nextModel } from '@parley/file-store/tokens';
import { type Embedder, EmbedderUnavailable } from '@parley/passages/embedder';
import type { PassageIndex, PassagePoint } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { inSpan, type SpanStart, stepsInSpans } from '@parley/tracing/tracing';
import type { Chunk } from './chunker';
import { DocumentAdvisersService } from '../models/document-advisers.service';
import { SummarizerService } from '../models/summarizer.service';
import type { Batch } from './document.child';
import { DocumentReaderService } from './document-reader.service';
import type { Lease } from './lease';

const storedBatch = 32;

const stage = (name: string): SpanStart => ({ name: `index ${name}`, kind: 'internal', attributes: {} });
const stages = {
  reading: stage('reading'),
  chunking: stage('chunking'),
  embedding: stage('embedding'),
  writing: stage('writing'),
};

/** Turns a content into the passages and vectors of its version. Idempotent. */
@Injectable()
export class IndexerService {
  private readonly countPassages: (by: number) => void;
  private readonly noted = new Set<string>();

  constructor(
    private readonly documents: DocumentReaderService,
    private readonly advisers: DocumentAdvisersService,
    private readonly summarizer: SummarizerService,
    private readonly passages: PassagesRepository,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(embedder) private readonly model: Embedder,
    @Inject(passageIndex) private readonly points: PassageIndex,
    private readonly models: IndexModelsRepository,
    @Inject(nextModel) private readonly next: NextModelService | null,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    this.countPassages = platform.metrics.counter(
      'parley_files_passages_indexed_total',
      'Passages embedded and written to the index.',
    );
  }

  /** Returns the models that have all points of this version: the active one, and the next one unless it failed. */
  async index(version: ContentVersion, { file, source }: TakenJob, watch: Lease): Promise<string[]> {
    let next = this.next?.isResting ? null : this.next;
    const batches = source === 'passages' ? this.stored(version) : await this.parsed(version, file, watch);
    let passagesWritten = 0;
    for await (const { chunks, part, texts, vectors } of oneAhead((left) =>
      this.embedded(batches, file, watch, left),
    )) {
      await watch.advance({ stage: 'embedding' });
      await inSpan(stages.writing, async () => {
        if (source === 'content') await this.passages.upsertPassages(version, chunks);
        await this.note(this.model);
        await this.points.write(version.botId, toPoints(version, file, chunks, texts, vectors));
      });
      if (next && !(await this.writeNext(next, version, file, chunks, texts, watch))) next = null;
      passagesWritten += chunks.length;
      this.countPassages(chunks.length);
      await watch.advance({ stage: 'embedding', passagesWritten, part });
    }
    await watch.advance({ stage: 'written', passages: passagesWritten, part: 1 });
    return [this.model.model, ...(next ? [next.model] : [])];
  }

  private async *embedded(
    batches: AsyncIterable<Batch>,
    { indexing }: FileEntity,
    watch: Lease,
    left: AbortSignal,
  ): AsyncGenerator<EmbeddedBatch> {
    const signal = AbortSignal.any([watch.signal, left]);
    let isFirst = true;
    for await (const { before, after, ...batch } of withNeighbours(stepsInSpans(stages.chunking, batches))) {
      if (isFirst) await watch.advance({ stage: 'parsed' });
      isFirst = false;
      const texts = embeddedTexts(batch.chunks, before, after, indexing);
      const vectors = await inSpan(stages.embedding, () =>
        watch.whenFree(() => this.model.embed(texts, signal), signal),
      );
      yield { ...batch, texts, vectors };
    }
  }

  private async parsed(version: ContentVersion, file: FileEntity, watch: Lease): Promise<AsyncIterable<Batch>> {
    const { indexing } = file;
    if (asksModels(indexing)) await this.forget(version, file);
    const task = { sizeBytes: Number(file.size), contentType: file.content_type, key: file.key, ...limits(indexing) };
    const content = await inSpan(stages.reading, () => this.blobs.read(blobOf(file)));
    const { advice, adviser } = this.advisers.adviceFor(indexing, watch);
    const batches = this.documents.read({ ...task, advice }, content, watch.signal, { adviser });
    const { summarization } = indexing;
    return summarization?.enable ? this.summarizer.withSummaries(batches, summarization, watch) : batches;
  }

  /** Answers of models vary: an earlier attempt may have written more passages than this one will. */
  private async forget(version: ContentVersion, file: FileEntity): Promise<void> {
    if (!(await this.passages.deleteVersion(version))) return;
    await this.points.removeFile(version.botId, version.fileId, file.active_version);
  }

  private async *stored(version: ContentVersion): AsyncGenerator<Batch> {
    const count = await this.passages.countOfVersion(version);
    for (let start = 0; start < count; start += storedBatch) {
      const chunks = await this.passages.listFromPosition(version, start, storedBatch);
      yield { chunks, part: Math.min(1, (start + chunks.length) / count) };
    }
  }

  /**
   * Writes the points of the next model. Never fails a file, nor delays it for long: the re-index adds missing points.
   */
  private async writeNext(
    next: NextModelService,
    version: ContentVersion,
    file: FileEntity,
    chunks: Chunk[],
    texts: string[],
    watch: Lease,
  ): Promise<boolean> {
    try {
      const vectors = await next.embedder.embed(texts, watch.signal);
      await this.note(next.embedder);
      await next.index.write(version.botId, toPoints(version, file, chunks, texts, vectors));
      return true;
    } catch (error) {
      watch.signal.throwIfAborted();
      next.rest();
      this.platform.logger.warn(
        { ...version, model: next.model, err: error },
        'the next embedding model failed, the file is indexed without it',
      );
      return false;
    }
  }

  private async note({ model, dimensions }: Embedder): Promise<void> {
    if (this.noted.has(model)) return;
    if (!(await this.models.registerModel({ model, dimensions }))) {
      throw new EmbedderUnavailable(
        `The embedding model "${model}" returned vectors of ${dimensions} dimensions, but earlier vectors of this model have another number of dimensions. Configure the earlier model again, or migrate to a model with another name.`,
      );
    }
    this.noted.add(model);
  }
}

function toPoints(
  version: ContentVersion,
  { tags }: FileEntity,
  chunks: Chunk[],
  texts: string[],
  vectors: Float32Array[],
): PassagePoint[] {
  return chunks.map(({ position }, place) =>
    toPoint(version, tags, { position, text: texts[place]!, vector: vectors[place]! }),
  );
}

function asksModels({ parsing, summarization, vision }: IndexingConfiguration): boolean {
  const { transcribePages, indexPages } = vision ?? {};
  return [parsing?.mode === 'agent', parsing?.smartCleanup, summarization?.enable, transcribePages, indexPages].some(
    Boolean,
  );
}

function limits({ parsing, chunking }: IndexingConfiguration) {
  return {
    maximumLength: chunking?.maximumChunkLength ?? 1000,
    minimumParagraphLength: parsing?.minimumParagraphLength,
  };
}

interface EmbeddedBatch extends Batch {
  texts: string[];
  vectors: Float32Array[];
}

interface Neighbourhood extends Batch {
  before: Chunk[];
  after: Chunk[];
}

async function* withNeighbours(batches: AsyncIterable<Batch>): AsyncGenerator<Neighbourhood> {
  let before: Chunk[] = [];
  let current: Batch | undefined;
  for await (const next of batches) {
    if (current) {
      yield { ...current, before, after: next.chunks };
      before = current.chunks;
    }
    current = next;
  }
  if (current) yield { ...current, before, after: [] };
}

/** Prefetches one item while the previous one is processed. Leaving the loop aborts the generator. */
async function* oneAhead<Item>(make: (left: AbortSignal) => AsyncGenerator<Item>): AsyncGenerator<Item> {
  const left = new AbortController();
  const items = make(left.signal);
  let next = items.next();
  try {
    for (;;) {
      const made = await next;
      if (made.done) return;
      next = items.next();
      // Prevents an unhandled rejection: the error is thrown when the item is awaited.
      next.catch(() => undefined);
      yield made.value;
    }
  } finally {
    left.abort();
    await items.return(undefined);
  }
}
