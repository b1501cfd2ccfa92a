import { createHash } from 'node:crypto';
import { QdrantClient, type Schemas } from '@qdrant/js-client-rest';
import { unlessAborted } from '@parley/background/unless-aborted';
import { unavailable } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import type { TagQuery } from '@parley/contracts/query-fields';
import { inSpan } from '@parley/tracing/tracing';
import type { Embedder } from './embedder';
import { candidatesPerSide, fuse } from './fusion';
import type { IndexHealth } from './index-health';
import type {
  KnownModel,
  PassageHit,
  PassageIndex,
  PassagePoint,
  PassageQuery,
  PassageTerms,
  SparseTerms,
  WordQuery,
} from './passage-index';
import { checkDimensions } from './vectors';

export interface QdrantIndexOptions {
  url: string;
  apiKey?: string;
  /** Determines the collection. Its `ready()` must run first. */
  embedder: Pick<Embedder, 'model' | 'dimensions'>;
  /** Other models whose points are retagged, removed and counted as well. Called in the caller's transaction. */
  knownModels?: (within?: Sql) => Promise<KnownModel[]>;
  timeoutMs?: number;
  health?: IndexHealth;
}

interface Payload {
  botId: string;
  fileId: string;
  contentVersion: string;
  passageId: string;
  tags: string[];
}

/** Request to one collection. `init` carries the deadline and must be passed to the client's call. */
type QdrantCall<T> = (collection_name: string, init: RequestInit) => Promise<T>;

const pointsPerRequest = 256;
/** At about 20 characters per number, a request stays below a third of Qdrant's 32 MB limit. */
const numbersPerRequest = 512 * 1024;

/** No HNSW graphs: every search is exact, see docs/decisions/0014-passage-index-port.md. */
const withoutGraphs = { m: 0, payload_m: 0 };

const payloadIndexes: Record<keyof Omit<Payload, 'passageId'>, Schemas['PayloadFieldSchema']> = {
  botId: { type: 'keyword', is_tenant: true },
  fileId: 'keyword',
  contentVersion: 'keyword',
  tags: 'keyword',
};

/** Error codes of connections that failed before the response headers. */
const unansweredCodes = ['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE', 'ECONNREFUSED'];

class QdrantRefused extends Error {
  constructor(
    readonly status: number,
    data: unknown,
    cause: unknown,
  ) {
    super(`Qdrant answered ${status}: ${JSON.stringify(data)?.slice(0, 500)}`, { cause });
  }
}

/** Qdrant adapter of the passage index: one collection per embedding model, every request filtered by bot. */
export class QdrantIndex implements PassageIndex {
  private readonly api: ReturnType<QdrantClient['api']>;
  private readonly embedder: Pick<Embedder, 'model' | 'dimensions'>;
  private readonly knownModels: (within?: Sql) => Promise<KnownModel[]>;
  private readonly timeoutMs: number;
  private readonly health?: IndexHealth;
  private readonly hasKey: boolean;
  private preparation?: Promise<void>;

  constructor({
    url,
    apiKey,
    embedder,
    knownModels = () => Promise.resolve([]),
    timeoutMs = 15_000,
    health,
  }: QdrantIndexOptions) {
    const { origin, pathname } = new URL(url);
    this.embedder = embedder;
    this.knownModels = knownModels;
    this.timeoutMs = timeoutMs;
    this.health = health;
    this.hasKey = Boolean(apiKey);
    this.api = new QdrantClient({
      url: origin,
      prefix: pathname.replace(/\/+$/, ''),
      headers: {
        // Compressed answers are chunked, which costs 45 ms per search; uncompressed ones arrive at once.
        'accept-encoding': 'identity',
        // A header instead of the option `apiKey`, with which the client writes to the console on unencrypted
        // connections.
        'api-key': apiKey,
      },
      // Requests carry their own deadlines; a client timeout would replace their signals.
      timeout: Infinity,
      checkCompatibility: false,
    }).api();
  }

  /** Idempotent, for concurrent callers and several replicas. */
  ready(): Promise<void> {
    this.preparation ??= this.ensureCollection().finally(() => (this.preparation = undefined));
    return this.preparation;
  }

  async write(botId: string, points: PassagePoint[]): Promise<void> {
    points.forEach(({ vector }) => checkDimensions(vector, this.embedder.dimensions));
    const size = Math.max(1, Math.min(pointsPerRequest, Math.floor(numbersPerRequest / this.embedder.dimensions)));
    for (let start = 0; start < points.length; start += size) {
      const batch = points.slice(start, start + size).map((point) => toQdrantPoint(botId, point));
      // Shards apply their parts independently: waiting only for the last batch would not cover the others.
      await this.inOwn('upsert', async (collection_name, init) => {
        await this.api.upsertPoints({ collection_name, points: batch, wait: true }, init);
      });
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
    const existing = await this.inOwn('scroll', async (collection_name, init) => {
      const request = { collection_name, filter: among, limit: points.length, with_payload: false };
      return resultOf(await this.api.scrollPoints(request, init)).points.map(({ id }) => String(id));
    });
    if (existing.length === 0) return;
    const changed = existing.map((id) => ({ id, vector: { sparse: byId.get(id)! } }));
    await this.inOwn('update_vectors', (collection_name, init) =>
      this.api.updateVectors({ collection_name, points: changed, update_filter: filter, wait: true }, init),
    );
  }

  async retag(botId: string, fileId: string, tags: Record<string, string>, within?: Sql): Promise<void> {
    const payload: Pick<Payload, 'tags'> = { tags: toKeywords(tags) };
    const filter = { must: isOfFile(botId, fileId) };
    await this.inEach(
      'set_payload',
      (collection_name, init) =>
        this.api.setPayload({ collection_name, payload: { ...payload }, filter, wait: true }, init),
      within,
    );
  }

  async removeFile(botId: string, fileId: string, exceptVersion: string | null, within?: Sql): Promise<void> {
    const filter = {
      must: isOfFile(botId, fileId),
      must_not: exceptVersion === null ? [] : [{ key: 'contentVersion', match: { value: exceptVersion } }],
    };
    await this.inEach('delete', this.removing(filter), within);
  }

  async removeFiles(botId: string, fileIds: string[]): Promise<void> {
    await this.inEach('delete', this.removing({ must: [isOfBot(botId), isOfFiles(fileIds)] }));
  }

  async search(botId: string, { vector, terms, tags, fileIds, limit, signal }: PassageQuery): Promise<PassageHit[]> {
    checkDimensions(vector, this.embedder.dimensions);
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
    const [[nearest = [], worded = [], cosines = []], points] = await Promise.all([
      this.inOwn('query', this.querying(searches), signal),
      // The rarity of words depends on the number of points.
      searches.length > 1 ? this.inOwn('count', this.counting({ must: [isOfBot(botId)] }), signal) : 0,
    ]);
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
    const collection = collectionOf(model);
    const [[worded = []] = [], points = 0] = await Promise.all([
      this.unlessMissing('query', collection, this.querying(searches), signal),
      this.unlessMissing('count', collection, this.counting({ must: [isOfBot(botId)] }), signal),
    ]);
    const candidates = { nearest: [], worded: worded.map(({ item, score }) => ({ item, bm25: score })) };
    return fuse(candidates, { terms, points }, limit).map(({ item, ...scores }) => ({ ...item, ...scores }));
  }

  async dropTenant(botId: string): Promise<void> {
    await this.inEach('delete', this.removing({ must: [isOfBot(botId)] }));
  }

  async dropModel(botId: string, model: KnownModel): Promise<void> {
    await this.unlessMissing('delete', collectionOf(model), this.removing({ must: [isOfBot(botId)] }));
  }

  async count(botId: string): Promise<number> {
    const filter = { must: [isOfBot(botId)] };
    const counts = await this.inEach('count', this.counting(filter));
    return counts.reduce<number>((sum, counted) => sum + (counted ?? 0), 0);
  }

  private get collection(): string {
    return collectionOf(this.embedder);
  }

  /**
   * Detects degraded dense search. Every point has a vector, so fewer dense hits than requested means all points that
   * pass the filter, which must include all sparse hits.
   */
  private async checkNearest(
    botId: string,
    { nearest, worded, candidates, filter, signal }: HybridCandidates & Pick<PassageQuery, 'signal'>,
  ): Promise<void> {
    if (!this.health || nearest.length >= candidates) return;
    const ids = new Set(nearest.map(({ item }) => item.id));
    const isIncomplete =
      worded.some(({ item }) => !ids.has(item.id)) ||
      (nearest.length === 0 && (await this.inOwn('count', this.counting(filter), signal)) > 0);
    if (isIncomplete) this.health.degraded('dense side incomplete', { bot: botId, nearest: nearest.length });
  }

  /** Runs a request in the collection of each known model. A missing collection counts as empty, except the current one. */
  private async inEach<T>(operation: string, ask: QdrantCall<T>, within?: Sql): Promise<(T | undefined)[]> {
    const known = (await this.knownModels(within))
      .map(collectionOf)
      .filter((collection) => collection !== this.collection);
    return Promise.all([
      this.inOwn(operation, ask),
      ...known.map((collection) => this.unlessMissing(operation, collection, ask)),
    ]);
  }

  /** Recreates the collection when it is missing (the server was emptied or replaced), then repeats the request. */
  private async inOwn<T>(operation: string, ask: QdrantCall<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await this.request(operation, this.collection, ask, signal);
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.health?.degraded('collection missing', { collection: this.collection });
      await (signal ? unlessAborted(signal, this.ready()) : this.ready());
      return this.request(operation, this.collection, ask, signal);
    }
  }

  private async unlessMissing<T>(
    operation: string,
    collection: string,
    ask: QdrantCall<T>,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await this.request(operation, collection, ask, signal);
    } catch (error) {
      if (!isMissing(error)) throw error;
      return undefined;
    }
  }

  private async ensureCollection(): Promise<void> {
    await this.checkVersion();
    const existing = await this.unlessMissing('get_collection', this.collection, async (collection_name, init) =>
      resultOf(await this.api.getCollection({ collection_name }, init)),
    );
    if (!existing) await this.createCollection();
    else if (hasGraphs(existing.config.hnsw_config)) {
      await this.request('update_collection', this.collection, (collection_name, init) =>
        this.api.updateCollection({ collection_name, hnsw_config: withoutGraphs }, init),
      );
    }
    for (const [field_name, field_schema] of Object.entries(payloadIndexes)) {
      await this.request('create_index', this.collection, (collection_name, init) =>
        this.api.createFieldIndex({ collection_name, field_name, field_schema, wait: true }, init),
      );
    }
  }

  private async createCollection(): Promise<void> {
    try {
      await this.request('create_collection', this.collection, (collection_name, init) =>
        this.api.createCollection(
          {
            collection_name,
            vectors: { dense: { size: this.embedder.dimensions, distance: 'Cosine' } },
            sparse_vectors: { sparse: { modifier: 'idf' } },
            hnsw_config: withoutGraphs,
          },
          init,
        ),
      );
    } catch (error) {
      const { exists } = await this.request('collection_exists', this.collection, async (collection_name, init) =>
        resultOf(await this.api.collectionExists({ collection_name }, init)),
      );
      if (!exists) throw error;
    }
  }

  /**
   * Throws a 503 for Qdrant before 1.19: it ignores `params.idf.corpus`, so content of one bot would affect the ranking
   * of another. An unknown version (hidden by a proxy) is accepted.
   */
  private async checkVersion(): Promise<void> {
    const about = await this.api.root({}, this.initFor()).catch(() => undefined);
    const version = String(about?.data.version);
    const [, major, minor] = /^(\d+)\.(\d+)\./.exec(version) ?? [];
    if (!major || Number(major) > 1 || Number(minor) >= 19) return;
    this.health?.unusable(`Qdrant ${version} is too old: Parley needs 1.19 or later`);
    throw unavailable('The version of the passage index is too old. The operator of this platform has to update it.');
  }

  private removing(filter: Schemas['Filter']): QdrantCall<unknown> {
    return (collection_name, init) => this.api.deletePoints({ collection_name, filter, wait: true }, init);
  }

  private querying(searches: Schemas['QueryRequest'][]): QdrantCall<Scored[][]> {
    return async (collection_name, init) => {
      const sides = resultOf(await this.api.queryBatchPoints({ collection_name, searches }, init));
      return sides.map((side) => side.points.map(toScored));
    };
  }

  private counting(filter: Schemas['Filter']): QdrantCall<number> {
    return async (collection_name, init) =>
      resultOf(await this.api.countPoints({ collection_name, filter, exact: true }, init)).count;
  }

  /**
   * Throws QdrantRefused for an invalid request, the signal's reason when aborted, otherwise a retryable 503. All
   * requests are idempotent, so a request without an answer is repeated once.
   */
  private async request<T>(
    operation: string,
    collection: string,
    ask: QdrantCall<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const init = this.initFor(signal);
    const attributes = { 'db.system.name': 'qdrant', 'db.operation.name': operation };
    try {
      const result = await inSpan({ name: operation, kind: 'client', attributes }, () =>
        ask(collection, init).catch((error: unknown) => {
          if (!isUnanswered(error)) throw error;
          return ask(collection, init);
        }),
      );
      this.health?.usable();
      return result;
    } catch (error) {
      signal?.throwIfAborted();
      throw this.toError(error);
    }
  }

  /**
   * Without `dispatcher` the client would use its own, which keeps idle connections for 10 s although Qdrant closes
   * them after 5 s. Node's default keeps them for 4 s.
   */
  private initFor(signal?: AbortSignal): RequestInit {
    const timeout = AbortSignal.timeout(this.timeoutMs);
    return { signal: signal ? AbortSignal.any([signal, timeout]) : timeout, dispatcher: undefined };
  }

  private toError(error: unknown): Error {
    const { status, data } = error as { status?: number; data?: unknown };
    if (status === 401 || status === 403) {
      this.health?.unusable(
        this.hasKey
          ? `Qdrant refuses the key in QDRANT_API_KEY (${status})`
          : `Qdrant requires a key: set QDRANT_API_KEY`,
      );
      return unavailable(
        'The passage index refuses the key of this platform. The operator of this platform has to set the right key.',
        error,
      );
    }
    const isRefused = status !== undefined && status < 500 && status !== 408 && status !== 429;
    return isRefused
      ? new QdrantRefused(status, data, error)
      : unavailable('The passage index does not answer. Try again in a moment.', error);
  }
}

interface Scored {
  item: Omit<PassageHit, 'score' | 'words'>;
  score: number;
}

interface HybridCandidates {
  nearest: Scored[];
  worded: Scored[];
  candidates: number;
  filter: Schemas['Filter'];
}

function hasGraphs({ m, payload_m }: Schemas['HnswConfig']): boolean {
  return m !== withoutGraphs.m || payload_m !== withoutGraphs.payload_m;
}

function isMissing(error: unknown): boolean {
  return error instanceof QdrantRefused && error.status === 404;
}

function isUnanswered(error: unknown): boolean {
  const { message, cause } = error as { message?: string; cause?: { code?: string } };
  return message === 'fetch failed' && unansweredCodes.includes(String(cause?.code));
}

function resultOf<T>({ data }: { data: { result?: T } }): T {
  if (data.result === undefined) throw new Error('Qdrant answered without a result.');
  return data.result;
}

/** With the inverse document frequency among the bot's own points. */
function sparseQuery(botId: string, query: SparseTerms) {
  return { query, using: 'sparse', params: { idf: { corpus: { must: [isOfBot(botId)] } } } };
}

function toScored({ payload, score }: Schemas['ScoredPoint']): Scored {
  const { passageId, fileId, contentVersion } = payload as unknown as Payload;
  return { item: { id: passageId, fileId, contentVersion }, score };
}

/** Collection name. The hash distinguishes models whose names differ only in characters that Qdrant does not allow. */
function collectionOf({ model, dimensions }: KnownModel): string {
  const safe = model.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 80);
  const hash = createHash('sha256').update(model).digest('hex').slice(0, 8);
  return `parley_${safe}_${dimensions}_${hash}`;
}

function toQdrantPoint(botId: string, point: PassagePoint): Schemas['PointStruct'] {
  const payload: Payload = {
    botId,
    fileId: point.fileId,
    contentVersion: point.contentVersion,
    passageId: point.id,
    tags: toKeywords(point.tags),
  };
  const dense = Array.from(point.vector);
  return {
    id: pointId(botId, point.id),
    vector: point.terms.indices.length > 0 ? { dense, sparse: point.terms } : { dense },
    payload: { ...payload },
  };
}

/** Point id, unique in the collection. It includes the bot, so that no bot can overwrite another bot's point. */
function pointId(botId: string, passageId: string): string {
  const hash = createHash('sha256').update(`${botId}/${passageId}`).digest('hex');
  return hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

function toFilter(botId: string, tags: TagQuery = {}, fileIds?: string[]): Schemas['Filter'] {
  const isOneOf = (name: string, values: string[]) => ({
    key: 'tags',
    match: { any: values.map((value) => toKeyword(name, value)) },
  });
  const entries = Object.entries(tags);
  return {
    must: [
      isOfBot(botId),
      ...(fileIds ? [isOfFiles(fileIds)] : []),
      ...entries.filter(([, { in: allowed }]) => allowed.length > 0).map(([name, tag]) => isOneOf(name, tag.in)),
    ],
    must_not: entries.filter(([, { notIn }]) => notIn.length > 0).map(([name, tag]) => isOneOf(name, tag.notIn)),
  };
}

function toKeywords(tags: Record<string, string>): string[] {
  return Object.entries(tags).map(([name, value]) => toKeyword(name, value));
}

/**
 * Tag as one keyword. As nested keys, tag names would be parsed as paths (dots, brackets, quotes), and each name would
 * need its own payload index.
 */
function toKeyword(name: string, value: string): string {
  return JSON.stringify([name, value]);
}

function isOfBot(botId: string): Schemas['FieldCondition'] {
  return { key: 'botId', match: { value: botId } };
}

function isOfFile(botId: string, fileId: string): Schemas['FieldCondition'][] {
  return [isOfBot(botId), { key: 'fileId', match: { value: fileId } }];
}

function isOfFiles(fileIds: string[]): Schemas['FieldCondition'] {
  return { key: 'fileId', match: { any: fileIds } };
}
