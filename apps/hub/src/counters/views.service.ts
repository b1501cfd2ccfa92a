import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { CountersRepository } from './counters.repository';

const writeIntervalMs = 2_000;

/**
 * Write-behind counter: adds up views in memory and writes them every two seconds, so that reads cause no write. A
 * killed process loses the views of up to two seconds, a stopped one none. Owns its loop, which writes this state.
 */
@Injectable()
export class ViewsService implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private seen = new Map<string, number>();
  private readonly writing: PollingWorker;

  constructor(
    private readonly counters: CountersRepository,
    @Inject(platformToken) { logger }: Platform,
  ) {
    this.writing = new PollingWorker({ name: 'hub.writeViews', intervalMs: writeIntervalMs, logger }, () =>
      this.write(),
    );
  }

  onApplicationBootstrap(): void {
    this.writing.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.writing.stop();
    await this.write();
  }

  count(id: string): void {
    this.seen.set(id, (this.seen.get(id) ?? 0) + 1);
  }

  /** Keeps the views for the next attempt when the write fails. */
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
