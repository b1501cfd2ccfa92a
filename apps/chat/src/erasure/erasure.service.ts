import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import type { ChatLeftovers, CountChatLeftovers } from '@parley/contracts/chat/leftovers';
import { notFound } from '@parley/contracts/errors';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { isUUID } from 'class-validator';
import { ChatConfig } from '../config';
import { type Dropped, ErasureRepository, type Note } from './erasure.repository';

const notesAtOnce = 20;
const rowsAtOnce = 2_000;

/**
 * Erases the rows of deleted bots and conversations: once right after the deletion, and once more when no request that
 * was running then can still write. Every step is idempotent and may run in several processes at once.
 */
@Injectable()
export class ErasureService implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  /** One loop per queue, so that a conversation does not wait for a large bot. */
  private readonly loops: PollingWorker[];
  private isStopping = false;

  constructor(
    private readonly erasure: ErasureRepository,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    this.loops = [
      new PollingWorker({ name: 'chat.eraseBots', intervalMs, logger }, () =>
        this.sweep('dropped_bot', (bot) => this.erasure.deleteOfBot(bot, rowsAtOnce)),
      ),
      new PollingWorker({ name: 'chat.eraseConversations', intervalMs, logger }, () =>
        this.sweep('dropped_conversation', (conversation) =>
          this.erasure.deleteOfConversation(conversation, rowsAtOnce),
        ),
      ),
    ];
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

  async dropBot(botId: string): Promise<void> {
    await this.erasure.dropBot(botId);
    this.loops.forEach((loop) => loop.wake());
  }

  async countLeftovers({ botId }: CountChatLeftovers): Promise<ChatLeftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    return this.erasure.count(botId);
  }

  private async sweep(note: Note, deleteAll: (dropped: Dropped) => AsyncIterable<number>): Promise<boolean> {
    const notes = await this.erasure.take(note, notesAtOnce);
    for (const dropped of notes) await this.erase(note, dropped, () => deleteAll(dropped));
    return notes.length === notesAtOnce && !this.isStopping;
  }

  /** Batches keep locks short. If the process stops, the lease expires after a minute and another process continues. */
  private async erase(note: Note, dropped: Dropped, deleteAll: () => AsyncIterable<number>): Promise<void> {
    // Repeats until a pass finds no rows: later passes find rows that were written behind a long one.
    for (let isEmpty = false; !isEmpty;) {
      isEmpty = true;
      for await (const count of deleteAll()) {
        if (count > 0) isEmpty = false;
        if (this.isStopping) return;
      }
    }
    await this.erasure.settle(note, dropped);
  }
}
