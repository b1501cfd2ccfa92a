import { setTimeout as wait } from 'node:timers/promises';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';

const ttlMs = 1_000;
/** Callers that reject a value wait this long for others, and share one refetch. */
const gatheringMs = 5;

/** Coalescing read-through cache for another service. A value that would cause a refusal is fetched again first. */
export class CoalescingCache<T extends object> {
  private readonly known: LRUCache<string, T>;
  /** Refetches that have not been sent yet. */
  private readonly pending = new Map<string, Promise<T>>();

  constructor(
    max: number,
    private readonly fetch: (key: string) => Promise<T>,
  ) {
    // A fetch that a newer value replaces still resolves for its callers.
    this.known = new LRUCache({
      ...atMostEntries(max),
      ttl: ttlMs,
      ignoreFetchAbort: true,
      fetchMethod: (key) => this.fetch(key),
    });
  }

  /**
   * Cached for at most one second. A value that is not valid is fetched again after this call began. Throws as `fetch`
   * does.
   */
  async get(key: string, isValid: (value: T) => boolean | Promise<boolean> = () => true): Promise<T> {
    const status: LRUCache.Status<string, T> = {};
    const value = (await this.known.fetch(key, { status }))!;
    const wasFetchedNow = status.fetch === 'miss' || status.fetch === 'stale';
    return wasFetchedNow || (await isValid(value)) ? value : this.getFresh(key);
  }

  private getFresh(key: string): Promise<T> {
    const shared = this.pending.get(key) ?? wait(gatheringMs).then(() => this.fetchNext(key));
    this.pending.set(key, shared);
    return shared;
  }

  /** Does not join a running fetch: its value may be older than the change. */
  private async fetchNext(key: string): Promise<T> {
    this.pending.delete(key);
    const value = await this.fetch(key);
    this.known.set(key, value);
    return value;
  }
}
