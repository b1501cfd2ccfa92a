import { Injectable } from '@nestjs/common';
import { Database, type Transaction } from '@parley/persistence/database';
import { MessageWriterService } from './message-writer.service';
import type { MessageEntity, ScheduledMessageEntity } from './message.entity';
import { type NewDraft, NewMessagesRepository, type ScheduledDraft } from './new-messages.repository';
import { type Outcome, ScheduledMessagesRepository } from './scheduled-messages.repository';

@Injectable()
export class ScheduledMessagesService {
  private wakeWorker: (dueAt: Date) => void = () => undefined;

  constructor(
    private readonly database: Database,
    private readonly scheduled: ScheduledMessagesRepository,
    private readonly messages: NewMessagesRepository,
    private readonly writer: MessageWriterService,
  ) {}

  /** Sets the callback that wakes the worker when a message has been scheduled. */
  onScheduled(wake: (dueAt: Date) => void): void {
    this.wakeWorker = wake;
  }

  /** Throws the error that writing the message now would throw. */
  async add(tx: Transaction, botId: string, draft: ScheduledDraft): Promise<ScheduledMessageEntity> {
    const row = await this.messages.insertScheduledMessage(tx, botId, draft);
    if (!row) throw await this.writer.obstacleTo(botId, draft, tx);
    tx.afterCommit(() => this.wakeWorker(row.due_at));
    return row;
  }

  cancel(message: MessageEntity): Promise<boolean> {
    return this.database.transaction((tx) => this.scheduled.cancelScheduledMessage(tx, message));
  }

  msUntilNextDue(withinMs: number): Promise<number | undefined> {
    return this.scheduled.msUntilNextDueMessage(withinMs);
  }

  /**
   * Writes at most `limit` due messages and returns their number. Exactly once: the message and the status of its event
   * change in one transaction.
   */
  writeDue(limit: number): Promise<number> {
    return this.database.transaction(async (tx) => {
      const due = await this.scheduled.claimDueMessages(tx, limit);
      if (due.length === 0) return 0;
      const obstacles = await this.writer.writePossible(tx, due[0]!.bot_id, due.map(draftOf));
      const outcomes = due.map(({ id, event_id: eventId, direction }): Outcome => {
        const reason = obstacles.get(id);
        if (reason !== undefined) return { eventId, status: 'failed', reason };
        // A message of a user is a pending event for the bot. A message of the bot itself has no event.
        return { eventId, status: direction === 'outgoing' ? 'gone' : 'pending' };
      });
      await this.scheduled.finishScheduledEvents(tx, due[0]!.bot_id, outcomes);
      return due.length;
    });
  }
}

function draftOf({ id, conversation_id, user_id, type, payload, tags, origin }: ScheduledMessageEntity): NewDraft {
  return { id, conversation_id, user_id, type, payload, tags, origin: origin ?? undefined };
}
