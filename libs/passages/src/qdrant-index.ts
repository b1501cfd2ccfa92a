import type { Schemas } from '@qdrant/js-client-rest';
import type { Sql } from '@parley/persistence/database';
import { candidatesPerSide, fuse } from './fusion';
import type {
  KnownModel,
  PassageHit,
  PassageIndex,
  PassagePoint,
  PassageQuery,
  PassageTerms,
  WordQuery,
} from './passage-index';
import {
  isOfBot,
  isOfFile,
  isOfFiles,
  pointId,
  type Scored,
  sparseQuery,
  toFilter,
  toKeywords,
  toQdrantPoint,
  toScored,
} from './qdrant-points';
import { type QdrantOptions, QdrantRequests } from './qdrant-requests';
import { checkDimensions } from './vectors';

const pointsPerRequest = 256;
/** At about 20 characters per number, a request stays below a third of Qdrant's 32 MB limit. */
const numbersPerRequest = 512 * 1024;

/** Qdrant adapter of the passage index: one collection per embedding model, every request filtered by bot. */
export class QdrantIndex implements PassageIndex {
  private readonly requests: QdrantRequests;

  constructor(private readonly options: QdrantOptions) {
    this.requests = new QdrantRequests(options);
  }

  ready(): Promise<void> {
    return this.requests.ready();
  }

  async write(botId: string, points: PassagePoint[]): Promise<void> {
    const { dimensions } = this.options.embedder;
    points.forEach(({ vector }) => checkDimensions(vector, dimensions));
    const size = Math.max(1, Math.min(pointsPerRequest, Math.floor(numbersPerRequest / dimensions)));
    for (let start = 0; start < points.length; start += size) {
      // Shards apply their parts independently: waiting only for the last batch would not cover the others.
      await this.requests.upsert(points.slice(start, start + size).map((point) => toQdrantPoint(botId, point)));
    }
  }

  async replaceTerms(botId: string, points: PassageTerms[]): Promise<void> {
    const byVersion = Map.groupBy(points, ({ contentVersion }) => contentVersion);
    for (const [contentVersion, ofVersion] of byVersion) {
      for (let start = 0; start < ofVersion.length; start += pointsPerRequest) {
        await this.replaceTermsOf(botId, contentVersion, ofVersion.slice(start, start + pointsPerRequest));
      }
    }
  }

  /** Qdrant refuses a request with a point that is gone, so that it is asked for them first. */
  private async replaceTermsOf(botId: string, contentVersion: string, points: PassageTerms[]): Promise<void> {
    const byId = new Map(points.map(({ id, terms }) => [pointId(botId, id), terms]));
    const filter = { must: [isOfBot(botId), { key: 'contentVersion', match: { value: contentVersion } }] };
    const among = { must: [...filter.must, { has_id: [...byId.keys()] }] };
    const existing = await this.requests.idsOf(among, points.length);
    if (existing.length === 0) return;
    const changed = existing.map((id) => ({ id, vector: { sparse: byId.get(id)! } }));
    await this.requests.updateVectors(changed, filter);
  }

  async retag(botId: string, fileId: string, tags: Record<string, string>, within?: Sql): Promise<void> {
    await this.requests.setPayload({ must: isOfFile(botId, fileId) }, { tags: toKeywords(tags) }, within);
  }

  async removeFile(botId: string, fileId: string, exceptVersion: string | null, within?: Sql): Promise<void> {
    const filter = {
      must: isOfFile(botId, fileId),
      must_not: exceptVersion === null ? [] : [{ key: 'contentVersion', match: { value: exceptVersion } }],
    };
    await this.requests.delete(filter, within);
  }

  async removeFiles(botId: string, fileIds: string[]): Promise<void> {
    await this.requests.delete({ must: [isOfBot(botId), isOfFiles(fileIds)] });
  }

  async search(botId: string, { vector, terms, tags, fileIds, limit, signal }: PassageQuery): Promise<PassageHit[]> {
    checkDimensions(vector, this.options.embedder.dimensions);
    const filter = toFilter(botId, tags, fileIds);
    const candidates = candidatesPerSide(limit);
    const either = { filter, limit: candidates, with_payload: ['passageId', 'fileId', 'contentVersion'] };
    const dense = { ...either, query: Array.from(vector), using: 'dense', params: { exact: true } };
    const searches: Schemas['QueryRequest'][] = [dense];
    if (terms.indices.length > 0) {
      const sparse = { ...sparseQuery(botId, terms), filter, limit: candidates };
      // The last one gives the cosine of the worded candidates that are not among the nearest.
      searches.push({ ...either, ...sparse }, { ...dense, prefetch: sparse });
    }
    const [answers, points] = await Promise.all([
      this.requests.query(searches, signal),
      // The rarity of words depends on the number of points.
      searches.length > 1 ? this.requests.count({ must: [isOfBot(botId)] }, signal) : 0,
    ]);
    const [nearest = [], worded = [], cosines = []] = answers.map((side) => side.map(toScored));
    await this.checkNearest(botId, { nearest, worded, candidates, filter, signal });
    const cosineOf = new Map(cosines.map(({ item, score }) => [item.id, score]));
    const fused = fuse(
      {
        nearest: nearest.map(({ item, score }) => ({ item, cosine: score })),
        worded: worded.map(({ item, score }) => ({ item, cosine: cosineOf.get(item.id), bm25: score })),
      },
      { terms, points },
      limit,
    );
    return fused.map(({ item, ...scores }) => ({ ...item, ...scores }));
  }

  async searchWords(botId: string, model: KnownModel, query: WordQuery): Promise<PassageHit[]> {
    const { terms, tags, fileIds, limit, signal } = query;
    if (terms.indices.length === 0) return [];
    const filter = toFilter(botId, tags, fileIds);
    const with_payload = ['passageId', 'fileId', 'contentVersion'];
    const searches = [{ ...sparseQuery(botId, terms), filter, limit: candidatesPerSide(limit), with_payload }];
    const [[answers = []], points] = await Promise.all([
      this.requests.queryOf(model, searches, signal),
      this.requests.countOf(model, { must: [isOfBot(botId)] }, signal),
    ]);
    const worded = answers.map(toScored).map(({ item, score }) => ({ item, bm25: score }));
    const candidates = { nearest: [], worded };
    return fuse(candidates, { terms, points }, limit).map(({ item, ...scores }) => ({ ...item, ...scores }));
  }

  async dropTenant(botId: string): Promise<void> {
    await this.requests.delete({ must: [isOfBot(botId)] });
  }

  async dropModel(botId: string, model: KnownModel): Promise<void> {
    await this.requests.deleteOf(model, { must: [isOfBot(botId)] });
  }

  count(botId: string): Promise<number> {
    return this.requests.countAll({ must: [isOfBot(botId)] });
  }

  /**
   * Detects degraded dense search. Every point has a vector, so fewer dense hits than requested means all points that
   * pass the filter, which must include all sparse hits.
   */
  private async checkNearest(
    botId: string,
    { nearest, worded, candidates, filter, signal }: HybridCandidates & Pick<PassageQuery, 'signal'>,
  ): Promise<void> {
    const { health } = this.options;
    if (!health || nearest.length >= candidates) return;
    const ids = new Set(nearest.map(({ item }) => item.id));
    const isIncomplete =
      worded.some(({ item }) => !ids.has(item.id)) ||
      (nearest.length === 0 && (await this.requests.count(filter, signal)) > 0);
    if (isIncomplete) health.degraded('dense side incomplete', { bot: botId, nearest: nearest.length });
  }
}

interface HybridCandidates {
  nearest: Scored[];
  worded: Scored[];
  candidates: number;
  filter: Schemas['Filter'];
}
