import { Injectable } from '@nestjs/common';
import { Database, type Transaction } from '@parley/persistence/database';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { WhenDue } from '@parley/work-queue/worker';
import { ChatConfig } from '../config';
import { MessageWriterService } from './message-writer.service';
import type { MessageEntity, ScheduledMessageEntity } from './message.entity';
import { type NewDraft, NewMessagesRepository, type ScheduledDraft } from './new-messages.repository';
import { dueMessages, type Outcome, ScheduledMessagesRepository } from './scheduled-messages.repository';

const writing = 'chat.scheduledMessages';
const messagesAtOnce = 50;

@Injectable()
export class ScheduledMessagesService {
  constructor(
    private readonly database: Database,
    private readonly scheduled: ScheduledMessagesRepository,
    private readonly messages: NewMessagesRepository,
    private readonly writer: MessageWriterService,
    private readonly tasks: BackgroundTasks,
    private readonly config: ChatConfig,
  ) {}

  /** Throws the error that writing the message now would throw. */
  async add(tx: Transaction, botId: string, draft: ScheduledDraft): Promise<ScheduledMessageEntity> {
    const row = await this.messages.insertScheduledMessage(tx, botId, draft);
    if (!row) throw await this.writer.obstacleTo(botId, draft, tx);
    tx.afterCommit(() => this.tasks.wake(writing, row.due_at.getTime() - Date.now()));
    return row;
  }

  cancel(message: MessageEntity): Promise<boolean> {
    return this.database.transaction((tx) => this.scheduled.cancelScheduledMessage(tx, message));
  }

  /**
   * Writes messages when they are due. Safe to run in several processes. Exactly once: the message and the status of its
   * event change in one transaction.
   */
  @WhenDue<ScheduledMessagesService>({
    name: writing,
    rows: dueMessages,
    everyMs: ({ config }) => config.sweepIntervalMs,
  })
  writeDue(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const due = await this.scheduled.claimDueMessages(tx, messagesAtOnce);
      if (due.length === 0) return false;
      const obstacles = await this.writer.writePossible(tx, due[0]!.bot_id, due.map(draftOf));
      const outcomes = due.map(({ id, event_id: eventId, direction }): Outcome => {
        const reason = obstacles.get(id);
        if (reason !== undefined) return { eventId, status: 'failed', reason };
        // A message of a user is a pending event for the bot. A message of the bot itself has no event.
        return { eventId, status: direction === 'outgoing' ? 'gone' : 'pending' };
      });
      await this.scheduled.finishScheduledEvents(tx, due[0]!.bot_id, outcomes);
      return true;
    });
  }
}

function draftOf({ id, conversation_id, user_id, type, payload, tags, origin }: ScheduledMessageEntity): NewDraft {
  return { id, conversation_id, user_id, type, payload, tags, origin: origin ?? undefined };
}
