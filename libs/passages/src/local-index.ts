import { setImmediate } from 'node:timers/promises';
import type { Sql } from '@parley/database/database';
import { LRUCache } from 'lru-cache';
import type { Embedder } from './embedder';
import { HybridRanking, type StoredPoint } from './hybrid-ranking';
import type { LocalIndexRepository, TenantState } from './local-index.repository';
import type { PassageHit, PassageIndex, PassagePoint, PassageQuery } from './passage-index';
import { checkDimensions } from './vectors';

export interface LocalIndexOptions {
  repository: LocalIndexRepository;
  /** Whose vectors these are: points of another model stay unseen. */
  embedder: Pick<Embedder, 'model' | 'dimensions'>;
  /** Points kept in memory. A bot that has more is read from Postgres at every search: right, but slow. */
  cacheMb?: number;
}

const pointsPerWrite = 500;
/** Ids, tags and the map's entry of one point, measured at some 500 bytes. */
const bytesBesideVectors = 500;
const holdEventLoopMs = 4;

/** Exact search in process over vectors kept in Postgres: right up to some 100,000 passages a bot. */
export class LocalIndex implements PassageIndex {
  private readonly repository: LocalIndexRepository;
  private readonly embedder: Pick<Embedder, 'model' | 'dimensions'>;
  private readonly cacheBytes: number;
  private readonly tenants: LRUCache<string, Tenant>;

  constructor({ repository, embedder, cacheMb = 256 }: LocalIndexOptions) {
    this.repository = repository;
    this.embedder = embedder;
    this.cacheBytes = Math.ceil(cacheMb * 1024 * 1024);
    this.tenants = new LRUCache({ maxSize: this.cacheBytes, sizeCalculation: ({ bytes }) => bytes + 1 });
  }

  async ready(): Promise<void> {
    await this.repository.findState('');
  }

  async write(botId: string, points: PassagePoint[]): Promise<void> {
    points.forEach(({ vector }) => checkDimensions(vector, this.embedder.dimensions));
    const unique = [...new Map(points.map((point) => [point.id, point])).values()];
    for (let start = 0; start < unique.length; start += pointsPerWrite) {
      await this.repository.write(botId, this.embedder.model, unique.slice(start, start + pointsPerWrite));
    }
  }

  async retag(botId: string, fileId: string, tags: Record<string, string>, within?: Sql): Promise<void> {
    await this.repository.retag(botId, fileId, tags, within);
  }

  async removeFile(botId: string, fileId: string, exceptVersion: string | null, within?: Sql): Promise<void> {
    await this.repository.removeFile(botId, fileId, exceptVersion, within);
  }

  async removeFiles(botId: string, fileIds: string[]): Promise<void> {
    await this.repository.removeFiles(botId, fileIds);
  }

  async search(botId: string, query: PassageQuery): Promise<PassageHit[]> {
    checkDimensions(query.vector, this.embedder.dimensions);
    const state = await this.repository.findState(botId);
    if (!state) return [];

    const ranking = new HybridRanking(query);
    await this.considerTenant(ranking, botId, state, query.signal);
    return ranking.hits();
  }

  async dropTenant(botId: string): Promise<void> {
    await this.repository.removeAll(botId);
    this.tenants.delete(botId);
  }

  async count(botId: string): Promise<number> {
    return this.repository.count(botId);
  }

  /** From memory, no older than `state`; from the database when they are more than the cache may hold. */
  private async considerTenant(
    ranking: HybridRanking,
    botId: string,
    state: TenantState,
    signal?: AbortSignal,
  ): Promise<void> {
    const tenant = this.tenants.get(botId) ?? new Tenant();
    this.tenants.set(botId, tenant);
    const cached = await tenant.inTurn(async () => {
      await this.refresh(botId, tenant, state);
      // A copy: the next refresh may come while a search walks through them.
      return tenant.tooLarge ? null : [...tenant.points.values()];
    });
    this.tenants.set(botId, tenant);
    if (cached) await considerAll(ranking, cached);
    else await tenant.inTurn(() => this.considerStored(ranking, botId, signal));
  }

  private async refresh(botId: string, tenant: Tenant, state: TenantState): Promise<void> {
    if (tenant.revision >= state.revision) return;
    const mayHoldRemoved = state.removedRevision > tenant.revision;
    if (tenant.tooLarge && !mayHoldRemoved) return;
    if (tenant.tooLarge) tenant.reset();

    // First, so that what is gone does not take the room of what is new.
    if (mayHoldRemoved && tenant.points.size > 0) tenant.keepOnly(await this.repository.listIds(botId));
    await this.repository.readSince(botId, this.embedder.model, tenant.revision, async (points) => {
      tenant.add(points);
      return tenant.bytes <= this.cacheBytes;
    });
    if (tenant.bytes > this.cacheBytes) return tenant.giveUp(state.revision);
    tenant.revision = state.revision;
  }

  private async considerStored(ranking: HybridRanking, botId: string, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await this.repository.readSince(botId, this.embedder.model, 0, async (points) => {
      signal?.throwIfAborted();
      await considerAll(ranking, points);
      return true;
    });
  }
}

/** What this process holds of one bot. */
class Tenant {
  readonly points = new Map<string, StoredPoint>();
  bytes = 0;
  revision = 0;
  tooLarge = false;
  private turn: Promise<unknown> = Promise.resolve();

  /** One refresh at a time, and one search that reads from the database. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.turn.then(work);
    this.turn = mine.catch(() => undefined);
    return mine;
  }

  add(points: StoredPoint[]): void {
    for (const point of points) {
      this.remove(point.id);
      this.points.set(point.id, point);
      this.bytes += sizeOf(point);
    }
  }

  keepOnly(ids: string[]): void {
    const living = new Set(ids);
    for (const id of this.points.keys()) if (!living.has(id)) this.remove(id);
  }

  reset(): void {
    this.points.clear();
    this.bytes = 0;
    this.revision = 0;
    this.tooLarge = false;
  }

  giveUp(revision: number): void {
    this.reset();
    this.revision = revision;
    this.tooLarge = true;
  }

  private remove(id: string): void {
    const point = this.points.get(id);
    if (!point) return;
    this.points.delete(id);
    this.bytes -= sizeOf(point);
  }
}

function sizeOf({ vector }: StoredPoint): number {
  return vector.buffer.byteLength + bytesBesideVectors;
}

/** Lets other work of the process in every few milliseconds. */
async function considerAll(ranking: HybridRanking, points: StoredPoint[]): Promise<void> {
  let since = performance.now();
  let count = 0;
  for (const point of points) {
    ranking.consider(point);
    if (++count % 64 === 0 && performance.now() - since > holdEventLoopMs) {
      await setImmediate();
      since = performance.now();
    }
  }
}
