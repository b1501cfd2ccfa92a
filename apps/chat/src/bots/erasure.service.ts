import { Injectable } from '@nestjs/common';
import type { ChatLeftovers, CountChatLeftovers } from '@parley/contracts/chat/leftovers';
import { notFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { type Outcome, queue, RetryLater, type Work } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { Worker } from '@parley/work-queue/worker';
import { isUUID } from 'class-validator';
import { ErasureRepository } from './erasure.repository';

/** Deleted bots, by id. */
const eraseBots = queue('chat.eraseBots', { repeated: 'again' });

/** Deleted conversations, by id. The tenant is the bot. */
export const eraseConversations = queue('chat.eraseConversations');

const rowsAtOnce = 2_000;
const turnMs = 60_000;
/** Nothing else erases the rows, so that no failure is final. */
const options = { concurrency: 2, attempts: Infinity };

/**
 * Erases the rows of deleted bots and conversations: once right after the deletion, and once more when no request that
 * was running then can still write. Every step is idempotent and may run in several processes at once.
 */
@Injectable()
export class ErasureService {
  constructor(
    private readonly database: Database,
    private readonly erasure: ErasureRepository,
    private readonly work: WorkQueue,
  ) {}

  /** Queues all rows of the bot for erasure. Idempotent. */
  async eraseBot(botId: string): Promise<void> {
    await this.database.transaction(async (tx) => {
      await this.erasure.insertBotTombstone(tx, botId);
      await this.work.add(tx, eraseBots, [{ key: botId, tenant: botId, payload: null }]);
    });
  }

  async countLeftovers({ botId }: CountChatLeftovers): Promise<ChatLeftovers> {
    if (!isUUID(botId)) throw notFound('bot', botId);
    return this.erasure.countRowsOfBot(botId);
  }

  @Worker(eraseBots, options)
  async eraseRowsOfBot(work: Work<null>): Promise<Outcome> {
    const outcome = await this.erase(work, this.erasure.deleteRowsOfBot(work.key, rowsAtOnce));
    if (outcome !== 'more') await this.erasure.deleteBotTombstone(work.key);
    return outcome;
  }

  @Worker(eraseConversations, options)
  eraseRowsOfConversation(work: Work<null>): Promise<Outcome> {
    return this.erase(work, this.erasure.deleteRowsOfConversation(work.tenant, work.key, rowsAtOnce));
  }

  /** Batches keep locks short. Repeats until a pass finds no rows: later passes find rows written behind a long one. */
  private async erase({ createdAt, signal }: Work, batches: AsyncIterable<number>): Promise<Outcome> {
    // Read before the pass: a request may add rows until then.
    const settledInMs = await this.erasure.msUntilSettled(createdAt);
    const turnEndsAt = performance.now() + turnMs;
    let isEmpty = true;
    for await (const count of batches) {
      if (count > 0) isEmpty = false;
      signal.throwIfAborted();
      if (performance.now() > turnEndsAt) return 'more';
    }
    if (!isEmpty) return 'more';
    if (settledInMs > 0)
      throw new RetryLater('Requests that were running at the deletion may still add rows.', settledInMs);
  }
}
