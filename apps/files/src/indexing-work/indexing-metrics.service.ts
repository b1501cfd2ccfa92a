import { Inject, Injectable } from '@nestjs/common';
import { indexingStages } from '@parley/contracts/indexing-work';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { Every } from '@parley/work-queue/worker';
import { FilesConfig } from '../config';
import { IndexingWorkRepository, type IndexingWorkMetrics } from './indexing-work.repository';

/**
 * Metrics of the indexing queue. A polling loop measures them, so that reading the metrics sends no query. Every
 * process reports the figures of all.
 */
@Injectable()
export class IndexingMetricsService {
  private figures?: IndexingWorkMetrics;

  constructor(
    private readonly work: IndexingWorkRepository,
    @Inject(platformToken) { metrics }: Platform,
    private readonly config: FilesConfig,
  ) {
    metrics.gauges('parley_files_indexing_jobs', 'Contents in the indexing queue, by stage.', 'stage', () =>
      Object.fromEntries(indexingStages.map((stage) => [stage, this.countAt(stage)])),
    );
    const gauge = (name: string, help: string, of: (figures: IndexingWorkMetrics) => number) =>
      metrics.gauge(name, help, () => Promise.resolve(this.figures ? of(this.figures) : NaN));
    gauge(
      'parley_files_indexing_oldest_waiting_seconds',
      'Age of the oldest content that no worker has taken; 0 when none waits.',
      (figures) => figures.oldestWaitingSeconds,
    );
    gauge(
      'parley_files_indexing_most_attempts',
      'Most attempts of any content in the indexing queue.',
      (figures) => figures.mostAttempts,
    );
    gauge(
      'parley_files_indexing_failed_last_hour',
      'Files in the status indexing_failed that changed last within an hour.',
      (figures) => figures.failedLastHour,
    );
    gauge('parley_files_uploads_under_way', 'Uploads under way.', (figures) => figures.uploads);
  }

  @Every<IndexingMetricsService>({ name: 'files.measure', everyMs: ({ config }) => config.sweepIntervalMs })
  async measure(): Promise<void> {
    // A failed round clears the figures, so that stale ones are never shown.
    this.figures = await this.work.measureIndexingWork().catch((error: unknown) => {
      this.figures = undefined;
      throw error;
    });
  }

  private countAt(stage: string): number {
    if (!this.figures) return NaN;
    return this.figures.jobs.find((jobs) => jobs.stage === stage)?.count ?? 0;
  }
}
