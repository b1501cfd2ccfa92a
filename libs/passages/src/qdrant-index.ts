import { createHash } from 'node:crypto';
import { QdrantClient, type Schemas } from '@qdrant/js-client-rest';
import { unavailable } from '@parley/contracts/errors';
import type { Sql } from '@parley/database/database';
import type { TagQuery } from '@parley/contracts/query-fields';
import { inSpan } from '@parley/tracing/tracing';
import type { Embedder } from './embedder';
import { candidatesPerSide, rankConstant } from './fusion';
import type { KnownModel, PassageHit, PassageIndex, PassagePoint, PassageQuery, SparseTerms } from './passage-index';
import { checkDimensions } from './vectors';

export interface QdrantIndexOptions {
  url: string;
  apiKey?: string;
  /** Names the collection: vectors of two models are never mixed. Its `ready()` comes first. */
  embedder: Pick<Embedder, 'model' | 'dimensions'>;
  /** Those whose points are retagged, removed and counted too; asked within the transaction of the caller. */
  knownModels?: (within?: Sql) => Promise<KnownModel[]>;
  timeoutMs?: number;
}

interface Payload {
  botId: string;
  fileId: string;
  contentVersion: string;
  passageId: string;
  tags: string[];
}

const pointsPerRequest = 256;
/** At some 20 characters a number, a request stays below a third of the 32 MB that Qdrant takes. */
const numbersPerRequest = 512 * 1024;

const payloadIndexes: Record<keyof Omit<Payload, 'passageId'>, Schemas['PayloadFieldSchema']> = {
  botId: { type: 'keyword', is_tenant: true },
  fileId: 'keyword',
  contentVersion: 'keyword',
  tags: 'keyword',
};

/** The passage index in Qdrant: a collection for each embedding model, every request filtered by bot. */
export class QdrantIndex implements PassageIndex {
  private readonly client: QdrantClient;
  private readonly embedder: Pick<Embedder, 'model' | 'dimensions'>;
  private readonly knownModels: (within?: Sql) => Promise<KnownModel[]>;

  constructor({
    url,
    apiKey,
    embedder,
    knownModels = () => Promise.resolve([]),
    timeoutMs = 15_000,
  }: QdrantIndexOptions) {
    const { origin, pathname } = new URL(url);
    this.embedder = embedder;
    this.knownModels = knownModels;
    this.client = new QdrantClient({
      url: origin,
      prefix: pathname.replace(/\/+$/, ''),
      // Not as `apiKey`: the client would write to the console when the connection is not encrypted.
      headers: apiKey ? { 'api-key': apiKey } : undefined,
      timeout: timeoutMs,
      checkCompatibility: false,
    });
  }

  async ready(): Promise<void> {
    await answered('ensure', () => this.ensureCollection());
  }

  async write(botId: string, points: PassagePoint[]): Promise<void> {
    points.forEach(({ vector }) => checkDimensions(vector, this.embedder.dimensions));
    const size = Math.max(1, Math.min(pointsPerRequest, Math.floor(numbersPerRequest / this.embedder.dimensions)));
    for (let start = 0; start < points.length; start += size) {
      const batch = points.slice(start, start + size).map((point) => toQdrantPoint(botId, point));
      const wait = start + size >= points.length;
      await answered('upsert', () => this.client.upsert(this.collection, { points: batch, wait }));
    }
  }

  async retag(botId: string, fileId: string, tags: Record<string, string>, within?: Sql): Promise<void> {
    const payload: Pick<Payload, 'tags'> = { tags: toKeywords(tags) };
    const filter = { must: isOfFile(botId, fileId) };
    await this.inEach(
      'set_payload',
      (collection) => this.client.setPayload(collection, { payload: { ...payload }, filter, wait: true }),
      within,
    );
  }

  async removeFile(botId: string, fileId: string, exceptVersion: string | null, within?: Sql): Promise<void> {
    const filter = {
      must: isOfFile(botId, fileId),
      must_not: exceptVersion === null ? [] : [{ key: 'contentVersion', match: { value: exceptVersion } }],
    };
    await this.remove(filter, within);
  }

  async removeFiles(botId: string, fileIds: string[]): Promise<void> {
    await this.remove({ must: [isOfBot(botId), isOfFiles(fileIds)] });
  }

  async search(botId: string, { vector, terms, tags, fileIds, limit }: PassageQuery): Promise<PassageHit[]> {
    checkDimensions(vector, this.embedder.dimensions);
    const filter = toFilter(botId, tags, fileIds);
    const { points } = await answered('query', () =>
      this.client.query(this.collection, {
        ...toQuery(Array.from(vector), terms, filter, candidatesPerSide(limit)),
        filter,
        limit,
        with_payload: ['passageId', 'fileId', 'contentVersion'],
      }),
    );
    return points.map(({ payload, score }) => {
      const { passageId, fileId, contentVersion } = payload as unknown as Payload;
      return { id: passageId, fileId, contentVersion, score };
    });
  }

  async dropTenant(botId: string): Promise<void> {
    await this.remove({ must: [isOfBot(botId)] });
  }

  async dropModel(botId: string, model: KnownModel): Promise<void> {
    const filter = { must: [isOfBot(botId)] };
    await answered('delete', () => unlessMissing(this.client.delete(collectionOf(model), { filter, wait: true })));
  }

  async count(botId: string): Promise<number> {
    const filter = { must: [isOfBot(botId)] };
    const counts = await this.inEach('count', (collection) => this.client.count(collection, { filter, exact: true }));
    return counts.reduce((sum, counted) => sum + (counted?.count ?? 0), 0);
  }

  private get collection(): string {
    return collectionOf(this.embedder);
  }

  /** The same in the collection of each model. One that was removed by hand has nothing. */
  private async inEach<T>(
    operation: string,
    ask: (collection: string) => Promise<T>,
    within?: Sql,
  ): Promise<(T | undefined)[]> {
    const known = (await this.knownModels(within))
      .map(collectionOf)
      .filter((collection) => collection !== this.collection);
    return answered(operation, () =>
      Promise.all([ask(this.collection), ...known.map((collection) => unlessMissing(ask(collection)))]),
    );
  }

  /** Several replicas may do this at once: whoever comes second finds everything there. */
  private async ensureCollection(): Promise<void> {
    if (!(await this.collectionExists())) await this.createCollection();
    for (const [field_name, field_schema] of Object.entries(payloadIndexes)) {
      await this.client.createPayloadIndex(this.collection, { field_name, field_schema, wait: true });
    }
  }

  private async createCollection(): Promise<void> {
    try {
      await this.client.createCollection(this.collection, {
        vectors: { dense: { size: this.embedder.dimensions, distance: 'Cosine' } },
        sparse_vectors: { sparse: { modifier: 'idf' } },
        hnsw_config: { m: 0, payload_m: 16 },
      });
    } catch (error) {
      if (!(await this.collectionExists())) throw error;
    }
  }

  private async collectionExists(): Promise<boolean> {
    return (await this.client.collectionExists(this.collection)).exists;
  }

  private async remove(filter: Schemas['Filter'], within?: Sql): Promise<void> {
    await this.inEach('delete', (collection) => this.client.delete(collection, { filter, wait: true }), within);
  }
}

/** Names that differ only in characters which Qdrant does not take differ in the hash. */
function collectionOf({ model, dimensions }: KnownModel): string {
  const safe = model.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 80);
  const hash = createHash('sha256').update(model).digest('hex').slice(0, 8);
  return `parley_${safe}_${dimensions}_${hash}`;
}

async function unlessMissing<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if ((error as { status?: number }).status === 404) return undefined;
    throw error;
  }
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

/** Ids are one space for the whole collection: with the bot in it, no bot can overwrite another's point. */
function pointId(botId: string, passageId: string): string {
  const hash = createHash('sha256').update(`${botId}/${passageId}`).digest('hex');
  return hash.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** Nearest by cosine, or both sides fused by rank. */
function toQuery(vector: number[], terms: SparseTerms | undefined, filter: Schemas['Filter'], candidates: number) {
  if (!terms) return { query: vector, using: 'dense' };
  const dense = { query: vector, using: 'dense', filter, limit: candidates };
  const sparse = { query: terms, using: 'sparse', filter, limit: candidates };
  return { prefetch: terms.indices.length > 0 ? [dense, sparse] : [dense], query: { rrf: { k: rankConstant } } };
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
 * A tag as one keyword. As a nested key its name would be read as a path (dots, brackets, quotes), and each name would
 * want a payload index of its own.
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

/** Turns "Qdrant does not answer" into a 503 that may be repeated; says why when it refuses. */
async function answered<T>(operation: string, ask: () => Promise<T>): Promise<T> {
  const attributes = { 'db.system.name': 'qdrant', 'db.operation.name': operation };
  try {
    return await inSpan({ name: operation, kind: 'client', attributes }, ask);
  } catch (error) {
    const { status, data } = error as { status?: number; data?: unknown };
    const refused = status !== undefined && status < 500 && status !== 408 && status !== 429;
    if (!refused) throw unavailable('The passage index does not answer. Try again in a moment.', error);
    throw new Error(`Qdrant answered ${status}: ${JSON.stringify(data)?.slice(0, 500)}`, { cause: error });
  }
}
