import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Loop } from '@parley/background/loop';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { CountersRepository } from './counters.repository';
import { snapshotHours } from './snapshot';

const writeIntervalMs = 2_000;
const forgetIntervalMs = 600_000;

/**
 * Counts views without a write where somebody reads: they are added up here and written every two seconds. A process that
 * is killed loses those of the last two seconds; one that is stopped loses none.
 */
@Injectable()
export class ViewsService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private seen = new Map<string, number>();
  private readonly writing: Loop;
  private readonly forgetting: Loop;

  constructor(
    private readonly counters: CountersRepository,
    @Inject(platformToken) { logger }: Platform,
  ) {
    this.writing = new Loop({ name: 'hub.writeViews', intervalMs: writeIntervalMs, logger }, () => this.write());
    // An hour more than a list may take, for clocks that differ.
    this.forgetting = new Loop({ name: 'hub.forgetCounters', intervalMs: forgetIntervalMs, logger }, async () => {
      await this.counters.forgetBefore(snapshotHours + 1);
      return false;
    });
  }

  onApplicationBootstrap(): void {
    this.writing.start();
    this.forgetting.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([this.writing.stop(), this.forgetting.stop()]);
    await this.write();
  }

  count(id: string): void {
    this.seen.set(id, (this.seen.get(id) ?? 0) + 1);
  }

  /** What cannot be written is kept for the next time. */
  private async write(): Promise<boolean> {
    const views = this.seen;
    if (views.size === 0) return false;
    this.seen = new Map();
    try {
      await this.counters.addViews(views);
    } catch (error) {
      for (const [id, count] of views) this.seen.set(id, (this.seen.get(id) ?? 0) + count);
      throw error;
    }
    return false;
  }
}
