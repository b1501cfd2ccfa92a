import { createHash } from 'node:crypto';
import { QdrantClient, type Schemas } from '@qdrant/js-client-rest';
import { unlessAborted } from '@parley/background/unless-aborted';
import { unavailable } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import { inSpan } from '@parley/tracing/tracing';
import type { Embedder } from './embedder';
import type { IndexHealth } from './index-health';
import type { KnownModel } from './passage-index';
import { payloadIndexes } from './qdrant-points';

export interface QdrantOptions {
  url: string;
  apiKey?: string;
  /** Determines the collection. Its `ready()` must run first. */
  embedder: Pick<Embedder, 'model' | 'dimensions'>;
  /** Other models whose points are retagged, removed and counted as well. Called in the caller's transaction. */
  knownModels?: (within?: Sql) => Promise<KnownModel[]>;
  timeoutMs?: number;
  health?: IndexHealth;
}

/** Request to one collection. `init` carries the deadline and must be passed to the client's call. */
type QdrantCall<T> = (collection_name: string, init: RequestInit) => Promise<T>;

/** No HNSW graphs: every search is exact, see docs/decisions/0014-passage-index-port.md. */
const withoutGraphs = { m: 0, payload_m: 0 };

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

/** Requests to Qdrant: one collection per embedding model, which is created when it is missing. */
export class QdrantRequests {
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
  }: QdrantOptions) {
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

  /** Waits until the points can be found. */
  async upsert(points: Schemas['PointStruct'][]): Promise<void> {
    await this.inOwn('upsert', async (collection_name, init) => {
      await this.api.upsertPoints({ collection_name, points, wait: true }, init);
    });
  }

  /** Ids of up to `limit` points. */
  idsOf(filter: Schemas['Filter'], limit: number): Promise<string[]> {
    return this.inOwn('scroll', async (collection_name, init) => {
      const request = { collection_name, filter, limit, with_payload: false };
      return resultOf(await this.api.scrollPoints(request, init)).points.map(({ id }) => String(id));
    });
  }

  /** Replaces vectors of those points that still pass the filter. */
  async updateVectors(points: Schemas['PointVectors'][], update_filter: Schemas['Filter']): Promise<void> {
    await this.inOwn('update_vectors', (collection_name, init) =>
      this.api.updateVectors({ collection_name, points, update_filter, wait: true }, init),
    );
  }

  async setPayload(filter: Schemas['Filter'], payload: Schemas['Payload'], within?: Sql): Promise<void> {
    await this.inEach(
      'set_payload',
      (collection_name, init) => this.api.setPayload({ collection_name, payload, filter, wait: true }, init),
      within,
    );
  }

  async delete(filter: Schemas['Filter'], within?: Sql): Promise<void> {
    await this.inEach('delete', this.deleting(filter), within);
  }

  async deleteOf(model: KnownModel, filter: Schemas['Filter']): Promise<void> {
    await this.unlessMissing('delete', collectionOf(model), this.deleting(filter));
  }

  query(searches: Schemas['QueryRequest'][], signal?: AbortSignal): Promise<Schemas['ScoredPoint'][][]> {
    return this.inOwn('query', this.querying(searches), signal);
  }

  /** Hits among points of another model; none without its collection. */
  async queryOf(
    model: KnownModel,
    searches: Schemas['QueryRequest'][],
    signal?: AbortSignal,
  ): Promise<Schemas['ScoredPoint'][][]> {
    return (await this.unlessMissing('query', collectionOf(model), this.querying(searches), signal)) ?? [];
  }

  count(filter: Schemas['Filter'], signal?: AbortSignal): Promise<number> {
    return this.inOwn('count', this.counting(filter), signal);
  }

  async countOf(model: KnownModel, filter: Schemas['Filter'], signal?: AbortSignal): Promise<number> {
    return (await this.unlessMissing('count', collectionOf(model), this.counting(filter), signal)) ?? 0;
  }

  /** Points of all models. */
  async countAll(filter: Schemas['Filter']): Promise<number> {
    const counts = await this.inEach('count', this.counting(filter));
    return counts.reduce<number>((sum, counted) => sum + (counted ?? 0), 0);
  }

  private get collection(): string {
    return collectionOf(this.embedder);
  }

  private deleting(filter: Schemas['Filter']): QdrantCall<unknown> {
    return (collection_name, init) => this.api.deletePoints({ collection_name, filter, wait: true }, init);
  }

  private querying(searches: Schemas['QueryRequest'][]): QdrantCall<Schemas['ScoredPoint'][][]> {
    return async (collection_name, init) => {
      const sides = resultOf(await this.api.queryBatchPoints({ collection_name, searches }, init));
      return sides.map((side) => side.points);
    };
  }

  private counting(filter: Schemas['Filter']): QdrantCall<number> {
    return async (collection_name, init) =>
      resultOf(await this.api.countPoints({ collection_name, filter, exact: true }, init)).count;
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

/** Collection name. The hash distinguishes models whose names differ only in characters that Qdrant does not allow. */
function collectionOf({ model, dimensions }: KnownModel): string {
  const safe = model.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 80);
  const hash = createHash('sha256').update(model).digest('hex').slice(0, 8);
  return `parley_${safe}_${dimensions}_${hash}`;
}
