import { Inject, Injectable } from '@nestjs/common';
import { eventLoopPauses } from '@parley/background/yield-to-event-loop';
import { unlessAborted } from '@parley/background/unless-aborted';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { type Embedder, EmbedderBusy, EmbedderRefused, EmbedderUnavailable } from '@parley/passages/embedder';
import type { PassageIndex, PassagePoint, PassageTerms, SparseTerms } from '@parley/passages/passage-index';
import { documentTerms, queryTerms } from '@parley/passages/lexicon';
import { embedder, passageIndex } from '@parley/passages/tokens';
import { isSearchable } from '../schema/dirty-flags';
import type { CachedTable } from '../tables/table.cache';
import type { UnindexedRow } from './unindexed-rows.repository';

/** Characters of a row that are embedded, the limit of embedding models. The rest of a longer row is not searchable. */
const maxTextLength = 8_000;

export type EmbedderProblem = EmbedderBusy | EmbedderRefused | EmbedderUnavailable;

/** Search hit with its relevance by meaning and words: at least the cosine similarity, and 1 at most. */
export interface RowHit {
  id: number;
  similarity: number;
}

export interface SearchedText {
  vector: Float32Array;
  terms: SparseTerms;
}

/** Passage index of rows: one tenant per table, one point per row with searchable text. */
@Injectable()
export class RowPointsService {
  constructor(
    @Inject(embedder) private readonly model: Embedder,
    @Inject(passageIndex) private readonly index: PassageIndex,
  ) {}

  /** Throws EmbedderBusy, EmbedderRefused, EmbedderUnavailable, or an error of the index. */
  async write(table: CachedTable, rows: UnindexedRow[], signal: AbortSignal): Promise<void> {
    const texts = rows.map((row) => searchableText(table, row));
    const withText = rows.filter((_row, index) => texts[index] !== '');
    const silent = rows.filter((_row, index) => texts[index] === '');
    const embedded = texts.filter((text) => text !== '');
    const vectors = await this.model.embed(embedded, signal);
    const pause = eventLoopPauses();
    const points: PassagePoint[] = [];
    for (const [index, { id, revision }] of withText.entries()) {
      points.push({
        id: pointId(table.number, id),
        fileId: String(id),
        contentVersion: String(revision),
        vector: vectors[index]!,
        terms: documentTerms(embedded[index]!),
        tags: {},
      });
      await pause();
    }
    await this.index.write(tenantOf(table.number), points);
    await this.remove(
      table.number,
      silent.map(({ id }) => id),
    );
  }

  /** Replaces the terms of rows with searchable text, whose vectors stay. */
  async replaceTerms(table: CachedTable, rows: UnindexedRow[]): Promise<void> {
    const pause = eventLoopPauses();
    const points: PassageTerms[] = [];
    for (const row of rows) {
      const text = searchableText(table, row);
      if (text === '') continue;
      const contentVersion = String(row.revision);
      points.push({ id: pointId(table.number, row.id), contentVersion, terms: documentTerms(text) });
      await pause();
    }
    await this.index.replaceTerms(tenantOf(table.number), points);
  }

  async remove(tableNumber: string, ids: number[]): Promise<void> {
    if (ids.length > 0) await this.index.removeFiles(tenantOf(tableNumber), ids.map(String));
  }

  async drop(tableNumber: string): Promise<void> {
    await this.index.dropTenant(tenantOf(tableNumber));
  }

  /** Embeds a harmless word: an error shows that the refusal is not due to the content of rows. */
  async checkEmbedder(signal: AbortSignal): Promise<void> {
    await this.model.embed(['ready'], signal);
  }

  /** Embeds a search text. Throws InvalidQuery when the model refuses it, and 503 when the model is unavailable. */
  async read(text: string): Promise<SearchedText> {
    try {
      return { vector: await this.model.embedQuery(text), terms: queryTerms(text) };
    } catch (error) {
      if (!isEmbedderProblem(error)) throw error;
      throw error instanceof EmbedderRefused
        ? new ApiError('InvalidQuery', `search cannot be embedded: ${error.message}`, { cause: error })
        : unavailable('The embedding model does not answer. Try again in a moment.', error);
    }
  }

  /**
   * Up to `limit` nearest rows, by similarity. Some may be deleted already. Rejects with the signal's reason when it is
   * aborted.
   */
  async nearest(tableNumber: string, text: SearchedText, limit: number, signal: AbortSignal): Promise<RowHit[]> {
    const searched = this.index.search(tenantOf(tableNumber), { ...text, limit, signal });
    const hits = await unlessAborted(signal, searched);
    return hits.map(({ fileId, score }) => ({ id: Number(fileId), similarity: score }));
  }
}

export function isEmbedderProblem(error: unknown): error is EmbedderProblem {
  return [EmbedderBusy, EmbedderRefused, EmbedderUnavailable].some((type) => error instanceof type);
}

function tenantOf(tableNumber: string): string {
  return `tables:${tableNumber}`;
}

/** UUID of a row: the table number in one half, the row id in the other. */
function pointId(tableNumber: string, id: number): string {
  const digits = BigInt(tableNumber).toString(16).padStart(16, '0') + id.toString(16).padStart(16, '0');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function searchableText({ columns }: CachedTable, { data }: UnindexedRow): string {
  const values = [...columns.values()].filter(isSearchable).map(({ key }) => data[key]);
  const texts = values
    .filter((value) => value !== undefined)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
  return texts.join('\n').trim().slice(0, maxTextLength);
}
