import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Loop } from '@parley/background/loop';
import { indexingStages } from '@parley/contracts/indexing-work';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from '../config';
import { IndexingWorkRepository, type WorkFigures } from './indexing-work.repository';

/**
 * Shows in the metrics what waits and what does not succeed. It is measured in rounds, so that reading the metrics asks the
 * database nothing. Every process shows the figures of all.
 */
@Injectable()
export class WorkFiguresService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: Loop;
  private figures?: WorkFigures;

  constructor(
    private readonly work: IndexingWorkRepository,
    @Inject(platformToken) { logger, metrics }: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    this.loop = new Loop({ name: 'files.measure', intervalMs, logger }, () => this.measure());
    metrics.gauges('parley_files_indexing_jobs', 'Contents that are to be indexed, by how far they are.', 'stage', () =>
      Object.fromEntries(indexingStages.map((stage) => [stage, this.countAt(stage)])),
    );
    const gauge = (name: string, help: string, of: (figures: WorkFigures) => number) =>
      metrics.gauge(name, help, () => Promise.resolve(this.figures ? of(this.figures) : NaN));
    gauge(
      'parley_files_indexing_oldest_waiting_seconds',
      'Age of the oldest content that no worker has taken; 0 when none waits.',
      (figures) => figures.oldestWaitingSeconds,
    );
    gauge(
      'parley_files_indexing_most_attempts',
      'Tries of the content that needed most of them and is still to be indexed.',
      (figures) => figures.mostAttempts,
    );
    gauge(
      'parley_files_indexing_failed_last_hour',
      'Files that are indexing_failed and changed last within an hour.',
      (figures) => figures.failedLastHour,
    );
    gauge('parley_files_uploads_under_way', 'Contents that are coming in.', (figures) => figures.uploads);
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  private async measure(): Promise<boolean> {
    // What is old by more than a round is not shown.
    this.figures = await this.work.measure().catch((error: unknown) => {
      this.figures = undefined;
      throw error;
    });
    return false;
  }

  private countAt(stage: string): number {
    if (!this.figures) return NaN;
    return this.figures.jobs.find((jobs) => jobs.stage === stage)?.count ?? 0;
  }
}
