import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Database } from '@parley/persistence/database';
import { bundledModel } from '@parley/passages/bundled-embedder';
import type { Embedder } from '@parley/passages/embedder';
import { embedder } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { type Outcome, queue } from '@parley/work-queue/queue';
import { Worker } from '@parley/work-queue/worker';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import type { Repository } from 'typeorm';
import { ReindexService } from './reindex.service';
import { RowModelEntity } from './row-model.entity';

/** One key, the model for which all rows are marked. */
const markRows = queue('tables.markRows');
const tenant = 'platform';
const firstRow = { tableId: '', rowId: 0 };

/** Indexes all rows again when the service starts with another embedding model, whose vectors cannot be compared. */
@Injectable()
export class RowModelService implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    @InjectRepository(RowModelEntity) private readonly models: Repository<RowModelEntity>,
    private readonly reindex: ReindexService,
    private readonly queue: WorkQueue,
    @Inject(embedder) private readonly active: Embedder,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { model } = this.active;
    // Versions before this table had another bundled model. A server's model may be the one of before.
    const next = model === bundledModel ? firstRow : null;
    await this.database.query(
      `INSERT INTO row_model (model, next) VALUES ($1, $2)
       ON CONFLICT (is_only) DO UPDATE SET model = excluded.model, next = $3 WHERE row_model.model <> excluded.model`,
      [model, next && JSON.stringify(next), JSON.stringify(firstRow)],
    );
    await this.queue.addNow(markRows, [{ key: model, tenant, payload: null }]);
  }

  @Worker(markRows, { concurrency: 1, attempts: Infinity })
  async mark({ key: model }: { key: string }): Promise<Outcome> {
    const current = await this.models.findOneBy({ model });
    if (!current?.next) return;
    const done = await this.reindex.reindex({ after: current.next });
    const next = done.next ?? null;
    await this.models.update({ model }, { next });
    if (next) return 'more';
    this.platform.logger.info(
      { model, rows: done.rows },
      'rows of all tables are being indexed for the embedding model',
    );
  }
}
