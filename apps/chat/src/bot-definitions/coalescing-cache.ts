import { setTimeout as wait } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';

const ttlMs = 1_000;
/** Callers that reject an answer wait this long for others, and share one refetch. */
const gatheringMs = 5;

/** Coalescing read-through cache for another service. An answer that would cause a refusal is fetched again first. */
export class CoalescingCache<T extends object> {
  private readonly known: LRUCache<string, T>;
  /** Refetches that have not been sent yet. */
  private readonly next = new Map<string, Promise<T>>();

  constructor(
    max: number,
    private readonly ask: (key: string) => Promise<T>,
  ) {
    // A fetch that a newer answer replaces still resolves for its callers.
    this.known = new LRUCache({ max, ttl: ttlMs, ignoreFetchAbort: true, fetchMethod: (key) => this.ask(key) });
  }

  /**
   * Cached for at most one second. An answer that is not `good` is fetched again after this call began. Throws as `ask`
   * does.
   */
  async get(key: string, good: (answer: T) => boolean | Promise<boolean> = () => true): Promise<T> {
    const status: LRUCache.Status<T> = {};
    const answer = (await this.known.fetch(key, { status }))!;
    const wasAskedForThis = status.fetch === 'miss' || status.fetch === 'stale';
    return wasAskedForThis || (await good(answer)) ? answer : this.getFresh(key);
  }

  private getFresh(key: string): Promise<T> {
    const shared = this.next.get(key) ?? wait(gatheringMs).then(() => this.askNext(key));
    this.next.set(key, shared);
    return shared;
  }

  /** Does not join a running fetch: its answer may be older than the change. */
  private async askNext(key: string): Promise<T> {
    this.next.delete(key);
    const answer = await this.ask(key);
    this.known.set(key, answer);
    return answer;
  }
}
