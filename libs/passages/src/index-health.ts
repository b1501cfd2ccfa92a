import type { Logger } from '@parley/logging/logger';
import type { Metrics } from '@parley/service/metrics';

const logEveryMs = 60_000;

/**
 * Reasons for degraded search results: the dense side misses points that the sparse side found, a bot with passages has
 * no points, or the collection was missing on the server.
 */
export type Degradation = 'dense side incomplete' | 'index empty' | 'collection missing';

export class IndexHealth {
  private readonly loggedAt = new Map<string, number>();
  private currentProblem?: string;

  constructor(
    private readonly logger: Logger,
    private readonly metrics: Pick<Metrics, 'countDegradedSearch'>,
  ) {}

  /** Reason why the index is unusable, without secrets; undefined while no problem is known. */
  get problem(): string | undefined {
    return this.currentProblem;
  }

  /** Counts each occurrence in the metrics, logs each reason at most once a minute. */
  degraded(reason: Degradation, about: object): void {
    this.metrics.countDegradedSearch(reason);
    this.warn(`search returned degraded results: ${reason}`, about);
  }

  unusable(problem: string): void {
    this.currentProblem = problem;
    this.warn(`the passage index cannot be used: ${problem}`);
  }

  usable(): void {
    this.currentProblem = undefined;
  }

  /** Logs the same message at most once a minute. */
  warn(message: string, about: object = {}): void {
    const now = performance.now();
    if (now - (this.loggedAt.get(message) ?? -Infinity) < logEveryMs) return;
    this.loggedAt.set(message, now);
    this.logger.warn(about, message);
  }
}
