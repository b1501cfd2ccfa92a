import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { EventsRepository } from './events.repository';

const eventsAtOnce = 500;

/** Makes scheduled events `pending` when they are due. Safe to run in several processes. */
@Injectable()
export class DueEvents implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;
  private isStopping = false;

  constructor(
    private readonly events: EventsRepository,
    @Inject(platformToken) { logger }: Platform,
    private readonly config: ChatConfig,
  ) {
    const intervalMs = config.sweepIntervalMs;
    this.loop = new PollingWorker({ name: 'chat.dueEvents', intervalMs, logger }, () => this.release());
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

  /** Wakes the loop at `dueAt`. Events created by another process are found within one sweep interval. */
  expect(dueAt: Date): void {
    this.loop.wakeIn(Math.max(0, dueAt.getTime() - Date.now()));
  }

  private async release(): Promise<boolean> {
    if (this.isStopping) return false;
    // Read before the release: otherwise an event could become due in between unnoticed.
    const nextInMs = await this.events.msUntilNextDue(this.config.sweepIntervalMs);
    if (nextInMs !== undefined) this.loop.wakeIn(nextInMs);
    return (await this.events.releaseDue(eventsAtOnce)) === eventsAtOnce;
  }
}
