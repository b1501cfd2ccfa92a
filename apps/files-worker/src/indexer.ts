import { Inject, Injectable } from '@nestjs/common';
import { arrayBuffer } from 'node:stream/consumers';
import type { BlobStore } from '@parley/blobs/blob-store';
import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import { blobKey, type FileRow } from '@parley/file-store/file.entity';
import { type ContentVersion, passageId, PassagesRepository } from '@parley/file-store/passages.repository';
import { blobStore } from '@parley/file-store/tokens';
import { type Embedder, EmbedderBusy } from '@parley/passages/embedder';
import { documentTerms } from '@parley/passages/lexicon';
import type { PassageIndex } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import { type Chunk, embeddedText } from './chunking/chunker';
import { DocumentReader } from './parsing/document-reader';
import type { JobWatch } from './job-watch';

/** Passages that are embedded and written together. */
const batchSize = 32;
const maxBusyPauseMs = 60_000;

/** Turns a content into passages and vectors of its version. Repeating it writes the same ones. */
@Injectable()
export class Indexer {
  constructor(
    private readonly documents: DocumentReader,
    private readonly passages: PassagesRepository,
    @Inject(blobStore) private readonly blobs: BlobStore,
    @Inject(embedder) private readonly model: Embedder,
    @Inject(passageIndex) private readonly points: PassageIndex,
  ) {}

  async index(version: ContentVersion, file: FileRow, watch: JobWatch): Promise<void> {
    const bytes = new Uint8Array(await arrayBuffer(await this.blobs.read(blobKey(version, version.contentVersion))));
    const document = { bytes, contentType: file.content_type, key: file.key, ...limits(file.indexing) };
    const chunks = await this.documents.read(document, watch.signal);
    await watch.advance({ stage: 'parsed', passages: chunks.length });
    for (let start = 0; start < chunks.length; start += batchSize) {
      const batch = chunks.slice(start, start + batchSize);
      await this.write(version, file, batch, texts(chunks, batch, file.indexing), watch);
      await watch.advance({ stage: 'embedding', passagesWritten: start + batch.length });
    }
    await watch.advance({ stage: 'written' });
  }

  private async write(
    version: ContentVersion,
    file: FileRow,
    batch: Chunk[],
    embedded: string[],
    watch: JobWatch,
  ): Promise<void> {
    const vectors = await this.embed(embedded, watch);
    await watch.advance({ stage: 'embedding' });
    await this.passages.write(version, batch);
    await this.points.write(
      version.botId,
      batch.map((chunk, place) => ({
        id: passageId(version.fileId, version.contentVersion, chunk.position),
        fileId: version.fileId,
        contentVersion: version.contentVersion,
        vector: vectors[place]!,
        terms: documentTerms(embedded[place]!),
        tags: file.tags,
      })),
    );
  }

  /** A server that asks to slow down is given the time that it asks for, however often. */
  private async embed(embedded: string[], watch: JobWatch): Promise<Float32Array[]> {
    for (;;) {
      try {
        return await this.model.embed(embedded, watch.signal);
      } catch (error) {
        if (!(error instanceof EmbedderBusy)) throw error;
        await watch.pause(Math.min(error.retryAfterMs, maxBusyPauseMs));
      }
    }
  }
}

function limits({ parsing, chunking }: IndexingConfiguration) {
  return {
    maximumLength: chunking?.maximumChunkLength ?? 1000,
    minimumParagraphLength: parsing?.minimumParagraphLength,
  };
}

/** What is embedded of each passage: its breadcrumb unless that is turned off, and as many neighbours as are asked for. */
function texts(all: Chunk[], batch: Chunk[], { chunking }: IndexingConfiguration): string[] {
  const levels = chunking?.embeddedContextLevels ?? 0;
  const embedBreadcrumb = chunking?.embedBreadcrumb ?? true;
  return batch.map((chunk) => {
    const own = embeddedText(chunk, { embedBreadcrumb });
    if (levels === 0) return own;
    const before = all.slice(Math.max(0, chunk.position - levels), chunk.position);
    const after = all.slice(chunk.position + 1, chunk.position + 1 + levels);
    return [...before.map(({ content }) => content), own, ...after.map(({ content }) => content)].join('\n\n');
  });
}
