import type { Logger } from '@parley/logging/logger';
import type { Metrics } from '@parley/service/metrics';

const logEveryMs = 60_000;

/**
 * Reasons why a search answers with less than it should: points that words find are missing among the nearest vectors,
 * a bot with passages has no points at all, or the server had lost the collection.
 */
export type Degradation = 'dense side incomplete' | 'index empty' | 'collection missing';

/** Reports of the passage index to the operator: searches that find too little, and an index that cannot be used. */
export class IndexHealth {
  private readonly loggedAt = new Map<string, number>();
  private currentProblem?: string;

  constructor(
    private readonly logger: Logger,
    private readonly metrics: Pick<Metrics, 'countDegradedSearch'>,
  ) {}

  /** Why the index refuses to work, in words that anyone may read; undefined while nothing is known to be wrong. */
  get problem(): string | undefined {
    return this.currentProblem;
  }

  /** Counts every time, logs once a minute for each reason. */
  degraded(reason: Degradation, about: object): void {
    this.metrics.countDegradedSearch(reason);
    this.warn(`search finds less than it should: ${reason}`, about);
  }

  unusable(problem: string): void {
    this.currentProblem = problem;
    this.warn(`the passage index cannot be used: ${problem}`);
  }

  usable(): void {
    this.currentProblem = undefined;
  }

  /** Logs the same message once a minute at most. */
  warn(message: string, about: object = {}): void {
    const now = performance.now();
    if (now - (this.loggedAt.get(message) ?? -Infinity) < logEveryMs) return;
    this.loggedAt.set(message, now);
    this.logger.warn(about, message);
  }
}
