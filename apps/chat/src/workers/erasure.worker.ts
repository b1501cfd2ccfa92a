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
import { type Tombstone, ErasureRepository, type TombstoneTable } from '../erasure/erasure.repository';
import { ErasureService } from '../erasure/erasure.service';

const tombstonesAtOnce = 20;
const rowsAtOnce = 2_000;

/**
 * Erases the rows of deleted bots and conversations: once right after the deletion, and once more when no request that
 * was running then can still write. Every step is idempotent and may run in several processes at once.
 */
@Injectable()
export class ErasureWorker implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  /** One loop per queue, so that a conversation does not wait for a large bot. */
  private readonly loops: PollingWorker[];
  private isStopping = false;

  constructor(
    private readonly erasure: ErasureRepository,
    service: ErasureService,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    this.loops = [
      new PollingWorker({ name: 'chat.eraseBots', intervalMs, logger }, () =>
        this.sweep('dropped_bot', (bot) => this.erasure.deleteRowsOfBot(bot, rowsAtOnce)),
      ),
      new PollingWorker({ name: 'chat.eraseConversations', intervalMs, logger }, () =>
        this.sweep('dropped_conversation', (conversation) =>
          this.erasure.deleteRowsOfConversation(conversation, rowsAtOnce),
        ),
      ),
    ];
    service.onBotDeleted(() => this.loops.forEach((loop) => loop.wake()));
  }

  onApplicationBootstrap(): void {
    this.loops.forEach((loop) => loop.start());
  }

  onModuleDestroy(): void {
    this.isStopping = true;
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  private async sweep(
    table: TombstoneTable,
    deleteAll: (tombstone: Tombstone) => AsyncIterable<number>,
  ): Promise<boolean> {
    const tombstones = await this.erasure.claimTombstones(table, tombstonesAtOnce);
    for (const tombstone of tombstones) await this.erase(table, tombstone, () => deleteAll(tombstone));
    return tombstones.length === tombstonesAtOnce && !this.isStopping;
  }

  /** Batches keep locks short. If the process stops, the lease expires after a minute and another process continues. */
  private async erase(
    table: TombstoneTable,
    tombstone: Tombstone,
    deleteAll: () => AsyncIterable<number>,
  ): Promise<void> {
    // Repeats until a pass finds no rows: later passes find rows that were written behind a long one.
    for (let isEmpty = false; !isEmpty;) {
      isEmpty = true;
      for await (const count of deleteAll()) {
        if (count > 0) isEmpty = false;
        if (this.isStopping) return;
      }
    }
    await this.erasure.settleTombstone(table, tombstone);
  }
}
