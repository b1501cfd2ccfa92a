import { eventLoopPauses } from '@parley/background/yield-to-event-loop';
import type { Sql } from '@parley/persistence/database';
import { LRUCache } from 'lru-cache';
import type { Embedder } from './embedder';
import { HybridRanking } from './hybrid-ranking';
import type { LocalIndexRepository, TenantState } from './local-index.repository';
import type {
  KnownModel,
  PassageHit,
  PassageIndex,
  PassagePoint,
  PassageQuery,
  PassageTerms,
  WordQuery,
} from './passage-index';
import { mostPointsInBlock, PointBlock, type StoredPoint } from './point-block';
import { checkDimensions } from './vectors';

export interface LocalIndexOptions {
  repository: LocalIndexRepository;
  /** Model of the searched vectors. Points of other models are ignored. */
  embedder: Pick<Embedder, 'model' | 'dimensions'>;
  /** Cache size. The points of a larger bot are read from Postgres for each search: correct, but slow. */
  cacheMb?: number;
}

const pointsPerWrite = 500;
/** Has a cosine of 0 with every vector. */
const noVector = new Float32Array(0);

/** Exact in-process search over vectors in Postgres, suited to about 100,000 passages per bot. */
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
    return this.rank(botId, this.embedder.model, query);
  }

  async searchWords(botId: string, { model }: KnownModel, query: WordQuery): Promise<PassageHit[]> {
    const hits = await this.rank(botId, model, { ...query, vector: noVector });
    return hits.filter(({ score }) => score > 0);
  }

  async dropTenant(botId: string): Promise<void> {
    await this.repository.deletePointsOfBot(botId);
    for (const key of this.tenants.keys()) if (key.startsWith(tenantKey(botId, ''))) this.tenants.delete(key);
  }

  async dropModel(botId: string, { model }: KnownModel): Promise<void> {
    await this.repository.deletePointsOfModel(botId, model);
  }

  async count(botId: string): Promise<number> {
    return this.repository.countPointsOfBot(botId);
  }

  private async rank(botId: string, model: string, query: PassageQuery): Promise<PassageHit[]> {
    const state = await this.repository.findTenantState(botId);
    if (!state) return [];

    const ranking = new HybridRanking(query);
    await this.considerTenant(ranking, { botId, model }, state, query.signal);
    return ranking.hits(eventLoopPauses());
  }

  /** Reads the points from the cache, at least as new as `state`, or from the database when they exceed the cache. */
  private async considerTenant(
    ranking: HybridRanking,
    points: PointsOfBot,
    state: TenantState,
    signal?: AbortSignal,
  ): Promise<void> {
    const key = tenantKey(points.botId, points.model);
    const tenant = this.tenants.get(key) ?? new Tenant();
    this.tenants.set(key, tenant);
    const cached = await tenant.serialize(async () => {
      await this.refresh(points, tenant, state);
      // Snapshot, because the next refresh may run while a search iterates over the parts.
      return tenant.tooLarge ? null : tenant.snapshot();
    });
    this.tenants.set(key, tenant);
    if (cached) await considerAll(ranking, cached);
    else await tenant.serialize(() => this.considerStored(ranking, points, signal));
  }

  private async refresh({ botId, model }: PointsOfBot, tenant: Tenant, state: TenantState): Promise<void> {
    if (tenant.revision >= state.revision) return;
    const mayHoldRemoved = state.removedRevision > tenant.revision;
    if (tenant.tooLarge && !mayHoldRemoved) return;
    if (tenant.tooLarge) tenant.reset();

    // Removals first, so that removed points do not count against the cache limit.
    if (mayHoldRemoved && tenant.size > 0) tenant.keepOnly(await this.repository.listPointIds(botId, model));
    await this.repository.readPointsSince(botId, model, tenant.revision, async (points) => {
      tenant.add(points);
      return tenant.bytes <= this.cacheBytes;
    });
    if (tenant.bytes > this.cacheBytes) return tenant.giveUp(state.revision);
    tenant.revision = state.revision;
  }

  private async considerStored(
    ranking: HybridRanking,
    { botId, model }: PointsOfBot,
    signal?: AbortSignal,
  ): Promise<void> {
    signal?.throwIfAborted();
    await this.repository.readPointsSince(botId, model, 0, async (points) => {
      signal?.throwIfAborted();
      await considerAll(ranking, [{ block: PointBlock.of(points) }]);
      return true;
    });
  }
}

interface PointsOfBot {
  botId: string;
  model: string;
}

function tenantKey(botId: string, model: string): string {
  return `${botId}\n${model}`;
}

/** Block with its dead rows. Immutable: searches may be iterating over it. */
interface Part {
  block: PointBlock;
  dead?: Uint8Array;
}

class Tenant {
  bytes = 0;
  revision = 0;
  tooLarge = false;
  private readonly parts = new Set<PointBlock>();
  private readonly deadRows = new Map<PointBlock, Uint8Array>();
  private readonly blockOf = new Map<string, PointBlock>();
  private lastTask: Promise<unknown> = Promise.resolve();

  get size(): number {
    return this.blockOf.size;
  }

  /** Mutex: one refresh at a time, and one search that reads from the database. */
  async serialize<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.lastTask.then(work);
    this.lastTask = mine.catch(() => undefined);
    return mine;
  }

  snapshot(): Part[] {
    return [...this.parts].map((block) => ({ block, dead: this.deadRows.get(block) }));
  }

  /** Adds points with unique ids. */
  add(points: StoredPoint[]): void {
    this.remove(points.map(({ id }) => id));
    let block = PointBlock.of(points);
    // Merges small blocks that were added one by one, each only with a block of at least its size.
    for (let last = [...this.parts].at(-1); last && fitTogether(last, block); last = [...this.parts].at(-1)) {
      block = PointBlock.of([...this.takeOut(last), ...block.points()]);
    }
    this.put(block);
  }

  keepOnly(ids: string[]): void {
    const living = new Set(ids);
    this.remove([...this.blockOf.keys()].filter((id) => !living.has(id)));
  }

  reset(): void {
    this.parts.clear();
    this.deadRows.clear();
    this.blockOf.clear();
    this.bytes = 0;
    this.revision = 0;
    this.tooLarge = false;
  }

  giveUp(revision: number): void {
    this.reset();
    this.revision = revision;
    this.tooLarge = true;
  }

  private remove(ids: string[]): void {
    const changed = new Map<PointBlock, Uint8Array>();
    for (const id of ids) {
      const block = this.blockOf.get(id);
      if (!block) continue;
      const dead = changed.get(block) ?? Uint8Array.from(this.deadRows.get(block) ?? new Uint8Array(block.size));
      dead[block.ids.indexOf(id)] = 1;
      changed.set(block, dead);
      this.blockOf.delete(id);
    }
    for (const [block, dead] of changed) {
      this.deadRows.set(block, dead);
      const living = dead.filter((isDead) => !isDead).length;
      if (living > block.size / 2) continue;
      const points = this.takeOut(block);
      if (points.length > 0) this.put(PointBlock.of(points));
    }
  }

  private put(block: PointBlock): void {
    this.parts.add(block);
    this.bytes += block.bytes;
    for (const id of block.ids) this.blockOf.set(id, block);
  }

  private takeOut(block: PointBlock): StoredPoint[] {
    const points = block.points(this.deadRows.get(block));
    this.parts.delete(block);
    this.deadRows.delete(block);
    this.bytes -= block.bytes;
    return points;
  }
}

function fitTogether(last: PointBlock, next: PointBlock): boolean {
  return last.size <= next.size && last.size + next.size <= mostPointsInBlock;
}

async function considerAll(ranking: HybridRanking, parts: Part[]): Promise<void> {
  const pause = eventLoopPauses();
  for (const { block, dead } of parts) {
    ranking.consider(block, dead);
    await pause();
  }
}
