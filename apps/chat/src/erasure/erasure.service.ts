import { Injectable } from '@nestjs/common';
import type { ChatLeftovers, CountChatLeftovers } from '@parley/contracts/chat/leftovers';
import { notFound } from '@parley/contracts/errors';
import { isUUID } from 'class-validator';
import { ErasureRepository } from './erasure.repository';

@Injectable()
export class ErasureService {
  private wakeWorker: () => void = () => undefined;

  constructor(private readonly erasure: ErasureRepository) {}

  /** Sets the callback that wakes the worker when a bot has been deleted. */
  onBotDeleted(wake: () => void): void {
    this.wakeWorker = wake;
  }

  /** Queues all rows of the bot for erasure. Idempotent. */
  async eraseBot(botId: string): Promise<void> {
    await this.erasure.insertBotTombstone(botId);
    this.wakeWorker();
  }

  async countLeftovers({ botId }: CountChatLeftovers): Promise<ChatLeftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    return this.erasure.countRowsOfBot(botId);
  }
}
