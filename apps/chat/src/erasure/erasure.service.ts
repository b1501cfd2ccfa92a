import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { Loop } from '@parley/background/loop';
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
 * Erases what deleted bots and conversations leave behind: as soon as they are gone, and once more when no request can be
 * under way that still knew them. Every step may be repeated and may run in several processes at once.
 */
@Injectable()
export class ErasureService implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  /** One for each, so that a conversation does not wait for a large bot. */
  private readonly loops: Loop[];
  private isStopping = false;

  constructor(
    private readonly erasure: ErasureRepository,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    this.loops = [
      new Loop({ name: 'chat.eraseBots', intervalMs, logger }, () =>
        this.sweep('dropped_bot', (bot) => this.erasure.deleteOfBot(bot, rowsAtOnce)),
      ),
      new Loop({ name: 'chat.eraseConversations', intervalMs, logger }, () =>
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

  /** In batches, so that no lock is held for long. What is left at a stop is due again a minute later. */
  private async erase(note: Note, dropped: Dropped, deleteAll: () => AsyncIterable<number>): Promise<void> {
    // Until a round finds nothing: what came behind one that was long is found by the next.
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
