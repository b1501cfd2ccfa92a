import { setTimeout as wait } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';

/** An answer is believed for as long. */
const ttlMs = 1_000;
/** Who would be refused waits that long for others to share a question. */
const gatheringMs = 5;

/** Answers of another service, which is asked afresh before anything is refused because of what one says. */
export class RecentAnswers<T extends object> {
  private readonly known: LRUCache<string, T>;
  /** Questions that are about to be asked. */
  private readonly next = new Map<string, Promise<T>>();

  /** At most `max` answers are kept. */
  constructor(
    max: number,
    private readonly ask: (key: string) => Promise<T>,
  ) {
    // An answer that is replaced while it is on its way still goes to those who wait for it.
    this.known = new LRUCache({ max, ttl: ttlMs, ignoreFetchAbort: true, fetchMethod: (key) => this.ask(key) });
  }

  /** At most a second old, and when it is not `good` then one that was asked for after this call. Throws as `ask` does. */
  async get(key: string, good: (answer: T) => boolean | Promise<boolean> = () => true): Promise<T> {
    const status: LRUCache.Status<T> = {};
    const answer = (await this.known.fetch(key, { status }))!;
    const wasAskedForThis = status.fetch === 'miss' || status.fetch === 'stale';
    return wasAskedForThis || (await good(answer)) ? answer : this.getFresh(key);
  }

  /** However many would be refused, one question in a few milliseconds is all that they cost. */
  private getFresh(key: string): Promise<T> {
    const shared = this.next.get(key) ?? wait(gatheringMs).then(() => this.askNext(key));
    this.next.set(key, shared);
    return shared;
  }

  /** Joins no question that is on its way: its answer may be older than what has changed. */
  private async askNext(key: string): Promise<T> {
    this.next.delete(key);
    const answer = await this.ask(key);
    this.known.set(key, answer);
    return answer;
  }
}
