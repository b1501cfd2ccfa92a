import { Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { IndexModelsRepository } from '../store/index-models.repository';
import type { NextModelService } from '../store/next-model.service';
import { nextModel } from '../store/tokens';
import type { Embedder } from '@parley/passages/embedder';
import type { KnownModel, PassageIndex } from '@parley/passages/passage-index';
import { embedder, passageIndex } from '@parley/passages/tokens';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { type Outcome, queue, RetryLater } from '@parley/work-queue/queue';
import { Worker } from '@parley/work-queue/worker';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { ReindexService } from './reindex.service';

/** One key, the model that is being completed. */
const completeModel = queue('files.completeModel');
const tenant = 'platform';
const checkMs = 5_000;
const logMs = 30_000;

/**
 * Adds what the active model lacks after it took the place of a model that Parley no longer has. Meanwhile search finds
 * the other passages by their words.
 */
@Injectable()
export class ModelCompletionService implements OnApplicationBootstrap {
  private checkedAt = -Infinity;
  private loggedAt = -Infinity;
  /** Former models, until the active one has all contents; then none for ever. */
  private former: KnownModel[] | 'complete' = [];

  constructor(
    private readonly models: IndexModelsRepository,
    private readonly reindex: ReindexService,
    private readonly queue: WorkQueue,
    @Inject(embedder) private readonly active: Embedder,
    @Inject(nextModel) private readonly next: NextModelService | null,
    @Inject(passageIndex) private readonly index: PassageIndex,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    this.platform.metrics.gauge(
      'parley_reindex_contents_left',
      'Indexed contents that the next embedding model, or else the active one, lacks.',
      () => this.countLeft(),
    );
    if ((await this.listFormer()).length === 0) return;
    await this.queue.addNow(completeModel, [{ key: this.active.model, tenant, payload: null }]);
  }

  /** Models whose points are searched by words, since the active one lacks some of their contents. */
  async listFormer(): Promise<KnownModel[]> {
    if (this.former === 'complete') return [];
    if (performance.now() - this.checkedAt < checkMs) return this.former;
    this.checkedAt = performance.now();
    const former = await this.models.listFormerKnown(this.active.model);
    // Counts all contents, so only while there is another model.
    const isComplete = former.length === 0 || (await this.models.countContents(this.active.model)).lacking === 0;
    this.former = isComplete ? 'complete' : former;
    return isComplete ? [] : former;
  }

  private async countLeft(): Promise<number> {
    const incomplete = this.next ?? ((await this.listFormer()).length > 0 ? this.active : undefined);
    return incomplete ? (await this.models.countContents(incomplete.model)).lacking : 0;
  }

  @Worker(completeModel, { concurrency: 1, attempts: Infinity })
  async complete(): Promise<Outcome> {
    const { model } = this.active;
    const target = { model, embedder: this.active, index: this.index };
    const { problem, pauseMs = 0 } = await this.reindex.work(target);
    if (problem) throw new RetryLater(problem, pauseMs);
    const { total, lacking } = await this.models.countContents(model);
    if (lacking === 0) {
      this.platform.logger.info({ model, files: total }, 'all files have vectors of the new embedding model');
      return;
    }
    if (performance.now() - this.loggedAt > logMs) {
      this.loggedAt = performance.now();
      this.platform.logger.info(
        { model, files: total, left: lacking },
        'embedding files with the new model; search finds the others by words',
      );
    }
    return 'more';
  }
}
