import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { writeLastBatches } from '@parley/background/write-last-batches';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { Every } from '@parley/work-queue/worker';
import { type CallRecord, type FreeCall, SpendRepository } from './spend.repository';

const writing = 'models.cachedCalls';
const writeMs = 2_000;
const idleMs = 60_000;
const maxTogether = 500;
const maxWaiting = 20_000;

/**
 * Records of calls that the cache answered, which cost nothing. They are written together every 2 s, so that such a call has no
 * statement of its own. A process that is killed loses the records of 2 s.
 */
@Injectable()
export class CachedCallsService implements BeforeApplicationShutdown {
  private waiting: FreeCall[] = [];
  private readonly countDropped: (by?: number) => void;

  constructor(
    private readonly spend: SpendRepository,
    private readonly tasks: BackgroundTasks,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    this.countDropped = platform.metrics.counter(
      'parley_model_cached_calls_dropped_total',
      'Calls of models answered by the cache that are not recorded, because too many waited for the database.',
    );
  }

  record(payer: { botId: string; workspaceId: string }, call: CallRecord): void {
    if (this.waiting.length >= maxWaiting) return this.countDropped();
    this.waiting.push({ ...call, id: newId('mcall'), bot_id: payer.botId, workspace_id: payer.workspaceId });
    this.tasks.wake(writing, writeMs);
  }

  @Every({ name: writing, everyMs: idleMs })
  async write(): Promise<boolean> {
    const batch = this.waiting.splice(0, maxTogether);
    if (batch.length === 0) return false;
    try {
      await this.spend.recordFree(batch);
    } catch (error) {
      this.waiting.unshift(...batch);
      throw error;
    }
    return this.waiting.length > 0;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await writeLastBatches(() => this.write(), this.platform.logger);
  }
}
