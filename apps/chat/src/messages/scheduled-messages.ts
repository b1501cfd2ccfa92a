import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import { Database, type Transaction } from '@parley/persistence/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import type { MessageEntity, ScheduledMessageEntity } from './message.entity';
import { MessageWriter } from './message-writer';
import { type NewDraft, NewMessagesRepository, type ScheduledDraft } from './new-messages.repository';
import { type Outcome, ScheduledMessagesRepository } from './scheduled-messages.repository';

const messagesAtOnce = 50;

/**
 * Writes scheduled messages when they are due. Exactly once: the message and the status of its event change in one
 * transaction. Safe to run in several processes.
 */
@Injectable()
export class ScheduledMessages implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;

  constructor(
    private readonly database: Database,
    private readonly scheduled: ScheduledMessagesRepository,
    private readonly messages: NewMessagesRepository,
    private readonly writer: MessageWriter,
    @Inject(platformToken) { logger }: Platform,
    private readonly config: ChatConfig,
  ) {
    const intervalMs = config.sweepIntervalMs;
    this.loop = new PollingWorker({ name: 'chat.scheduledMessages', intervalMs, logger }, () => this.round());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  /** Throws the error that writing the message now would throw. */
  async add(tx: Transaction, botId: string, draft: ScheduledDraft): Promise<ScheduledMessageEntity> {
    const row = await this.messages.schedule(tx, botId, draft);
    if (!row) throw await this.writer.obstacleTo(botId, draft, tx);
    tx.afterCommit(() => this.loop.wakeIn(Math.max(0, row.due_at.getTime() - Date.now())));
    return row;
  }

  cancel(message: MessageEntity): Promise<boolean> {
    return this.database.transaction((tx) => this.scheduled.cancel(tx, message));
  }

  private async round(): Promise<boolean> {
    // Read before writing: otherwise a message could become due in between unnoticed.
    const nextInMs = await this.scheduled.msUntilNextDue(this.config.sweepIntervalMs);
    if (nextInMs !== undefined) this.loop.wakeIn(nextInMs);
    return this.database.transaction((tx) => this.writeDue(tx));
  }

  private async writeDue(tx: Transaction): Promise<boolean> {
    const due = await this.scheduled.takeDue(tx, messagesAtOnce);
    if (due.length === 0) return false;
    const obstacles = await this.writer.writePossible(tx, due[0]!.bot_id, due.map(draftOf));
    const outcomes = due.map(({ id, event_id: eventId, direction }): Outcome => {
      const reason = obstacles.get(id);
      if (reason !== undefined) return { eventId, status: 'failed', reason };
      // A message of a user is a pending event for the bot. A message of the bot itself has no event.
      return { eventId, status: direction === 'outgoing' ? 'gone' : 'pending' };
    });
    await this.scheduled.finish(tx, due[0]!.bot_id, outcomes);
    return true;
  }
}

function draftOf({ id, conversation_id, user_id, type, payload, tags, origin }: ScheduledMessageEntity): NewDraft {
  return { id, conversation_id, user_id, type, payload, tags, origin: origin ?? undefined };
}
