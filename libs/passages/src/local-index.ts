import type { Sql } from '@parley/persistence/database';
import { LRUCache } from 'lru-cache';
import type { Embedder } from './embedder';
import type { IndexHealth } from './index-health';
import type { LocalIndexRepository, PointsOfBot, TenantState } from './local-index.repository';
import type {
  KnownModel,
  PassageHit,
  PassageIndex,
  PassagePoint,
  PassageQuery,
  PassageTerms,
  WordQuery,
} from './passage-index';
import type { Candidates, ScanQuery } from './point-scan';
import type { TenantSize } from './point-store';
import { rescored } from './rescoring';
import { ScanThread, ScanThreadEnded } from './scan-thread';
import { checkDimensions, dot } from './vectors';

export interface LocalIndexOptions {
  repository: LocalIndexRepository;
  /** Model of the searched vectors. Points of other models are ignored. */
  embedder: Pick<Embedder, 'model' | 'dimensions'>;
  /** Cache size. The points of a larger bot are read from Postgres for each search: correct, but slow. */
  cacheMb?: number;
  health?: Pick<IndexHealth, 'warn'>;
}

const pointsPerWrite = 500;

/**
 * Blocks are stored once as many points have changed as a start reads in a tenth of a second, and one in twenty of a large
 * bot. A start reads later changes one by one.
 */
const [leastUnstored, shareUnstored] = [2_000, 0.05];

/**
 * Exact in-process search over vectors in Postgres, suited to some 100,000 passages per bot. A thread keeps quantised
 * vectors and words, and proposes candidates with bounds of their cosines. The exact vectors of the best are read from
 * Postgres.
 */
export class LocalIndex implements PassageIndex {
  private readonly repository: LocalIndexRepository;
  private readonly embedder: Pick<Embedder, 'model' | 'dimensions'>;
  private readonly health?: Pick<IndexHealth, 'warn'>;
  private readonly cacheBytes: number;
  private readonly tenants: LRUCache<string, CachedTenant>;
  private readonly storing = new Set<Promise<void>>();
  private thread?: ScanThread;
  private isClosed = false;
  private handles = 0;

  constructor({ repository, embedder, cacheMb = 256, health }: LocalIndexOptions) {
    this.repository = repository;
    this.embedder = embedder;
    this.health = health;
    this.cacheBytes = Math.ceil(cacheMb * 1024 * 1024);
    this.tenants = new LRUCache({
      maxSize: this.cacheBytes + 1,
      sizeCalculation: ({ bytes }) => bytes + 1,
      dispose: ({ tenant }, _key, reason) => {
        if (reason !== 'set') void tenant.serialize(() => tenant.forget());
      },
    });
  }

  async ready(): Promise<void> {
    await this.repository.findTenantState('');
  }

  async write(botId: string, points: PassagePoint[], within?: Sql): Promise<void> {
    points.forEach(({ vector }) => checkDimensions(vector, this.embedder.dimensions));
    const unique = [...new Map(points.map((point) => [point.id, point])).values()];
    for (let start = 0; start < unique.length; start += pointsPerWrite) {
      await this.repository.upsertPoints(
        botId,
        this.embedder.model,
        unique.slice(start, start + pointsPerWrite),
        within,
      );
    }
  }

  async replaceTerms(botId: string, points: PassageTerms[], within?: Sql): Promise<void> {
    for (let start = 0; start < points.length; start += pointsPerWrite) {
      const batch = points.slice(start, start + pointsPerWrite);
      await this.repository.updateTerms(botId, this.embedder.model, batch, within);
    }
  }

  async retag(botId: string, fileId: string, tags: Record<string, string>, within?: Sql): Promise<void> {
    await this.repository.updateTagsOfFile(botId, fileId, tags, within);
  }

  async removeFile(botId: string, fileId: string, exceptVersion: string | null, within?: Sql): Promise<void> {
    await this.repository.deletePointsOfFile(botId, fileId, exceptVersion, within);
  }

  async removeFiles(botId: string, fileIds: string[]): Promise<void> {
    await this.repository.deletePointsOfFiles(botId, fileIds);
  }

  async search(botId: string, query: PassageQuery): Promise<PassageHit[]> {
    checkDimensions(query.vector, this.embedder.dimensions);
    const { model } = this.embedder;
    const candidates = await this.candidates({ botId, model }, query, query.signal);
    return rescored(candidates, query, async (ids) => {
      const vectors = await this.repository.readVectors(botId, model, ids);
      return new Map(vectors.map(({ id, vector }) => [id, dot(query.vector, vector)]));
    });
  }

  async searchWords(botId: string, { model }: KnownModel, query: WordQuery): Promise<PassageHit[]> {
    const candidates = await this.candidates({ botId, model }, query, query.signal);
    return rescored(candidates, query, () => Promise.resolve(new Map<string, number>()));
  }

  async dropTenant(botId: string): Promise<void> {
    await this.repository.deletePointsOfBot(botId);
    for (const key of this.tenants.keys())
      if (key.startsWith(tenantKey({ botId, model: '' }))) this.tenants.delete(key);
  }

  async dropModel(botId: string, { model }: KnownModel): Promise<void> {
    await this.repository.deletePointsOfModel(botId, model);
  }

  async count(botId: string): Promise<number> {
    return this.repository.countPointsOfBot(botId);
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.all(this.storing);
    await this.thread?.end();
  }

  /** Candidates of the current points. A thread that ends takes its points along: then another one reads them again. */
  private async candidates(points: PointsOfBot, query: WordQuery, signal?: AbortSignal): Promise<Candidates> {
    const state = await this.repository.findTenantState(points.botId);
    if (!state) return { nearest: [], worded: [], points: 0 };
    // Not the signal, which cannot be posted to a thread.
    const { terms, tags, fileIds, limit, vector } = query as PassageQuery;
    const find = () => this.find(points, state, { terms, tags, fileIds, limit, vector }, signal);
    try {
      return await find();
    } catch (error) {
      if (error instanceof ScanThreadEnded && !this.isClosed) return find();
      throw error;
    }
  }

  /** Scans the cached points, at least as new as `state`, or those in the database when they exceed the cache. */
  private async find(
    points: PointsOfBot,
    state: TenantState,
    query: ScanQuery,
    signal?: AbortSignal,
  ): Promise<Candidates> {
    const key = tenantKey(points);
    const tenant = this.tenants.get(key)?.tenant ?? new Tenant(++this.handles);
    this.tenants.set(key, { tenant, bytes: tenant.bytes });
    return tenant.serialize(async () => {
      await this.refresh(points, tenant, state);
      this.tenants.set(key, { tenant, bytes: tenant.bytes });
      return tenant.tooLarge
        ? this.scanStored(points, query, signal)
        : tenant.thread!.call('search', tenant.handle, query);
    });
  }

  private async refresh(points: PointsOfBot, tenant: Tenant, state: TenantState): Promise<void> {
    const thread = this.running();
    if (tenant.thread !== thread) tenant.moveTo(thread);
    if (tenant.revision >= state.revision) return;
    if (tenant.tooLarge && state.removedRevision <= tenant.revision) return;
    if (tenant.tooLarge) tenant.moveTo(thread);
    if (tenant.revision === 0) await this.readBlocks(points, tenant);

    // Removals first, so that removed points do not count against the cache limit.
    if (state.removedRevision > tenant.revision && tenant.size.points > 0)
      tenant.size = await thread.call('keepOnly', tenant.handle, await this.repository.readIds(points));
    await this.repository.readPointsSince(points, tenant.revision, async (rows) => {
      tenant.size = await thread.call('add', tenant.handle, rows);
      return tenant.bytes <= this.cacheBytes;
    });
    tenant.size = await thread.call('settle', tenant.handle);
    if (tenant.bytes > this.cacheBytes) return tenant.giveUp(state.revision);
    tenant.revision = Math.max(tenant.revision, state.revision);
    const { unstored, points: all } = tenant.size;
    if (unstored >= Math.max(leastUnstored, shareUnstored * all)) this.storeBlocks(points, tenant);
  }

  private async readBlocks(points: PointsOfBot, tenant: Tenant): Promise<void> {
    try {
      await this.repository.readBlocks(points, async (block, bytes, revision) => {
        tenant.size = await tenant.thread!.call('addStored', tenant.handle, block, bytes);
        tenant.revision = revision;
        return tenant.bytes <= this.cacheBytes;
      });
    } catch (error) {
      if (error instanceof ScanThreadEnded) throw error;
      // Blocks are copies of the points, which are read instead.
      this.health?.warn('stored blocks of the passage index cannot be read', { err: error });
      tenant.moveTo(tenant.thread!);
    }
  }

  /** In the background: a search does not wait for it. */
  private storeBlocks(points: PointsOfBot, tenant: Tenant): void {
    if (tenant.isStoring || this.isClosed) return;
    tenant.isStoring = true;
    // The first call to the thread is made at once: no search changes the points before it.
    const work = this.storeBlocksNow(points, tenant)
      .catch((error: unknown) => this.health?.warn('blocks of the passage index cannot be stored', { err: error }))
      .finally(() => {
        tenant.isStoring = false;
        this.storing.delete(work);
      });
    this.storing.add(work);
  }

  private async storeBlocksNow(points: PointsOfBot, { thread, handle, revision, size }: Tenant): Promise<void> {
    const blocks = await thread!.call('beginStoring', handle);
    try {
      const { unstored } = size;
      await this.repository.storeBlocks(points, { revision, blocks, unstored }, (id) =>
        thread!.call('bytesOf', handle, id),
      );
    } finally {
      if (!thread!.hasEnded) await thread!.call('endStoring', handle);
    }
  }

  private async scanStored(points: PointsOfBot, query: ScanQuery, signal?: AbortSignal): Promise<Candidates> {
    signal?.throwIfAborted();
    const [thread, scan] = [this.running(), ++this.handles];
    await thread.call('begin', scan, query);
    try {
      await this.repository.readPointsSince(points, 0, async (rows) => {
        signal?.throwIfAborted();
        await thread.call('consider', scan, rows);
        return true;
      });
    } finally {
      // `end` below finds nothing then.
      if (signal?.aborted) await thread.call('end', scan);
    }
    return thread.call('end', scan);
  }

  private running(): ScanThread {
    if (!this.thread || (this.thread.hasEnded && !this.isClosed)) this.thread = new ScanThread();
    return this.thread;
  }
}

function tenantKey({ botId, model }: PointsOfBot): string {
  return `${botId}\n${model}`;
}

/** A new object for each size: the cache does not look at the size of one that it has. */
interface CachedTenant {
  tenant: Tenant;
  bytes: number;
}

const empty: TenantSize = { bytes: 0, points: 0, unstored: 0 };

/** Points of a bot and model on the thread. */
class Tenant {
  thread?: ScanThread;
  size = empty;
  revision = 0;
  tooLarge = false;
  isStoring = false;
  private lastTask: Promise<unknown> = Promise.resolve();

  constructor(readonly handle: number) {}

  get bytes(): number {
    return this.size.bytes;
  }

  /** Mutex: one refresh and search at a time. */
  async serialize<T>(work: () => T | Promise<T>): Promise<T> {
    const mine = this.lastTask.then(work);
    this.lastTask = mine.catch(() => undefined);
    return mine;
  }

  /** Without points, on this thread. */
  moveTo(thread: ScanThread): void {
    this.forget();
    this.thread = thread;
  }

  forget(): void {
    this.size = empty;
    this.revision = 0;
    this.tooLarge = false;
    // A thread that has ended holds nothing.
    this.thread?.call('drop', this.handle).catch(() => undefined);
  }

  giveUp(revision: number): void {
    this.forget();
    this.revision = revision;
    this.tooLarge = true;
  }
}
