import { Inject, Injectable } from '@nestjs/common';
import type { BlobStore } from '@parley/blobs/blob-store';
import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import { contextLevels, embeddedTexts } from '../../../files/src/store/embedded-texts';
import { blobOf, type FileEntity } from '../../../files/src/store/file.entity';
import type { LeasedJob } from '../../../files/src/store/jobs.repository';
import { type ContentVersion, PassagesRepository } from '../../../files/src/store/passages.repository';
import { blobStore } from '../../../files/src/store/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { inSpan, type SpanStart, stepsInSpans } from '@parley/tracing/tracing';
import type { OcrLanguage } from '@parley/documents/text-recogniser';
import type { Chunk } from './chunker';
import { DocumentAdvisersService } from './document-advisers.service';
import { SummarizerService } from './summarizer.service';
import type { Batch } from './document.child';
import { DocumentReaderService } from './document-reader.service';
import type { JobLease } from './job-lease';
import { type EmbeddedChunks, PointsService } from './points.service';
import { smallBatches } from './small-batches';

const storedBatch = 32;

const stage = (name: string): SpanStart => ({ name: `index ${name}`, kind: 'internal', attributes: {} });
const stages = {
  reading: stage('reading'),
  chunking: stage('chunking'),
  embedding: stage('embedding'),
  writing: stage('writing'),
};

export interface IndexOptions {
  /** Reads the text of a document whose reader fails, without its structure. */
  asPlainText: boolean;
  /** Languages in which pages without text, and pictures, are read by OCR. */
  ocr?: OcrLanguage[];
}

/** Turns a content into the passages and vectors of its version. Idempotent. */
@Injectable()
export class IndexerService {
  private readonly countPassages: (by: number) => void;

  constructor(
    private readonly documents: DocumentReaderService,
    private readonly advisers: DocumentAdvisersService,
    private readonly summarizer: SummarizerService,
    private readonly passages: PassagesRepository,
    @Inject(blobStore) private readonly blobs: BlobStore,
    private readonly points: PointsService,
    @Inject(platformToken) platform: Platform,
  ) {
    this.countPassages = platform.metrics.counter(
      'parley_files_passages_indexed_total',
      'Passages embedded and written to the index.',
    );
  }

  /** Returns the models that have all points of this version: the active one, and the next one unless it failed. */
  async index({ version, file, source }: LeasedJob, lease: JobLease, options: IndexOptions): Promise<string[]> {
    let next = this.points.usableNextModel();
    const batches = source === 'passages' ? this.stored(version) : await this.parsed(version, file, lease, options);
    let passagesWritten = 0;
    for await (const batch of oneAhead((left) => this.embedded(batches, file, lease, left))) {
      const { chunks, part } = batch;
      await lease.advance('embedding');
      await inSpan(stages.writing, async () => {
        if (source === 'content') await this.passages.upsertPassages(version, chunks);
        await this.points.writeActive(version, file.tags, batch);
      });
      if (next && !(await this.points.writeNext(next, version, file.tags, batch, lease.signal))) next = null;
      passagesWritten += chunks.length;
      this.countPassages(chunks.length);
      lease.noteIndexing(part, { passagesWritten });
    }
    lease.noteIndexing(1, { passages: passagesWritten });
    await lease.advance('written');
    return [this.points.activeModel, ...(next ? [next.model] : [])];
  }

  private async *embedded(
    batches: AsyncIterable<Batch>,
    { indexing }: FileEntity,
    lease: JobLease,
    left: AbortSignal,
  ): AsyncGenerator<Batch & EmbeddedChunks> {
    const signal = AbortSignal.any([lease.signal, left]);
    let isFirst = true;
    const small = smallBatches(stepsInSpans(stages.chunking, batches), contextLevels(indexing));
    for await (const { before, after, ...batch } of withNeighbours(small)) {
      if (isFirst) {
        lease.noteIndexing(0);
        await lease.advance('parsed');
        isFirst = false;
      }
      const texts = embeddedTexts(batch.chunks, before, after, indexing);
      const vectors = await inSpan(stages.embedding, () =>
        lease.whenFree(() => this.points.embed(texts, signal), signal),
      );
      yield { ...batch, texts, vectors };
    }
  }

  private async parsed(
    version: ContentVersion,
    file: FileEntity,
    lease: JobLease,
    { asPlainText, ocr }: IndexOptions,
  ): Promise<AsyncIterable<Batch>> {
    const { indexing } = file;
    if (asksModels(indexing) || asPlainText || ocr) await this.deleteEarlierAttempt(version, file);
    const task = { sizeBytes: Number(file.size), contentType: file.content_type, key: file.key, ...limits(indexing) };
    const content = await inSpan(stages.reading, () => this.blobs.read(blobOf(file)));
    const { advice, adviser } = this.advisers.adviceFor(indexing, lease);
    const batches = this.documents.read({ ...task, advice, asPlainText, ocr }, content, lease.signal, {
      adviser,
      onFormat: (format) => (lease.format = format),
      onReading: (part) => lease.noteReading(part),
      onPage: ({ page, of }) => lease.noteReading((page - 1) / of),
    });
    const { summarization } = indexing;
    return summarization?.enable ? this.summarizer.withSummaries(batches, summarization, lease) : batches;
  }

  /** Answers of models vary, and plain text is shorter: an earlier attempt may have written more passages than this one will. */
  private async deleteEarlierAttempt(version: ContentVersion, file: FileEntity): Promise<void> {
    if (!(await this.passages.deleteVersion(version))) return;
    await this.points.removeVersionsExcept(version, file.active_version);
  }

  private async *stored(version: ContentVersion): AsyncGenerator<Batch> {
    const count = await this.passages.countOfVersion(version);
    for (let start = 0; start < count; start += storedBatch) {
      const chunks = await this.passages.listFromPosition(version, start, storedBatch);
      yield { chunks, part: Math.min(1, (start + chunks.length) / count) };
    }
  }
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
