import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { bundledModel } from '@parley/passages/bundled-embedder';
import type { Embedder } from '@parley/passages/embedder';
import { embedder } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { type Outcome, queue, type Work } from '@parley/work-queue/queue';
import { Worker } from '@parley/work-queue/worker';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { ReindexService } from './reindex.service';
import { RowModelRepository } from './row-model.repository';

/** One key, the model for which all rows are marked. */
const markRows = queue('tables.markRows');
const tenant = 'platform';
const firstRow = { tableId: '', rowId: 0 };

/** Indexes all rows again when the service starts with another embedding model, whose vectors cannot be compared. */
@Injectable()
export class RowModelService implements OnApplicationBootstrap {
  constructor(
    private readonly models: RowModelRepository,
    private readonly reindex: ReindexService,
    private readonly queue: WorkQueue,
    @Inject(embedder) private readonly active: Embedder,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { model } = this.active;
    // Versions that stored no model had another bundled one. The model of a server may be the one of before.
    await this.models.changeModel(model, firstRow, { isKnown: model !== bundledModel });
    if (await this.models.findNext(model)) await this.queue.addNow(markRows, [{ key: model, tenant, payload: null }]);
  }

  @Worker(markRows, { concurrency: 1, attempts: Infinity })
  async mark({ key: model }: Work): Promise<Outcome> {
    const after = await this.models.findNext(model);
    if (!after) return;
    const { next = null } = await this.reindex.reindex({ after });
    await this.models.saveNext(model, next);
    if (next) return 'more';
    this.platform.logger.info({ model }, 'the rows of all tables are being indexed for the embedding model');
  }
}
