import { Inject, Injectable } from '@nestjs/common';
import { indexingStages } from '@parley/contracts/indexing-work';
import type { Platform } from '@parley/service/platform';
import { readOncePerScrape } from '@parley/service/read-once-per-scrape';
import { platformToken } from '@parley/service/tokens';
import { IndexingWorkRepository, type IndexingWorkMetrics } from './indexing-work.repository';

/** Metrics of the indexing queue, read on each scrape. Every process reports the figures of all. */
@Injectable()
export class IndexingMetricsService {
  constructor(work: IndexingWorkRepository, @Inject(platformToken) { metrics }: Platform) {
    const read = readOncePerScrape(() => work.measureIndexingWork());
    const gauge = (
      name: string,
      help: string,
      of: (figures: IndexingWorkMetrics) => number,
      labels?: Record<string, string>,
    ) => metrics.gauge(name, help, async () => of(await read()), labels);
    for (const stage of indexingStages) {
      gauge(
        'parley_files_indexing_jobs',
        'Contents in the indexing queue, by stage.',
        ({ jobs }) => jobs.find((each) => each.stage === stage)?.count ?? 0,
        { stage },
      );
    }
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
}
