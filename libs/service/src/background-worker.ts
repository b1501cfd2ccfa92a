import type { BeforeApplicationShutdown, OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common';
import { PollingWorker, type PollingWorkerOptions } from '@parley/background/polling-worker';

/** Polling worker as a Nest provider: starts with the app, and ends before its bus and database close. */
export abstract class BackgroundWorker implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  protected readonly loop: PollingWorker;
  /** True from the beginning of the shutdown, while requests are drained: a long round ends early. */
  protected isStopping = false;

  protected constructor(options: PollingWorkerOptions) {
    this.loop = new PollingWorker(options, () => this.round());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  /** One round of work. True when there may be more to do. */
  protected abstract round(): Promise<boolean>;
}
