import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { maxTags } from '@parley/contracts/chat/chat-fields';
import {
  type CreateMessage,
  type GetOrCreateMessage,
  type GottenOrCreatedMessage,
  type ListMessages,
  type MessageId,
  type MessageReply,
  type Messages,
  messages as operations,
  type UpdateMessage,
} from '@parley/contracts/chat/messages';
import { notFound } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { newId } from '@parley/persistence/ids';
import { dueTime } from '../announcements/due-time';
import { scopeOf, storedNames } from '../queries/scope';
import { OutgoingChangesService } from '../announcements/outgoing-changes.service';
import { SignalsService } from '../signals/signals.service';
import { discriminatingTags, lockTags, mergedTags } from '../tags/object-tags';
import { TagsRepository } from '../tags/tags.repository';
import { draftOf } from './draft';
import type { Draft, NewDraft } from './new-messages.repository';
import { MessageContentService } from './message-content.service';
import { isDelivered, type MessageEntity, toMessage } from './message.entity';
import { MessageWriterService } from './message-writer.service';
import { MessagesRepository, type MessageTable } from './messages.repository';
import { ScheduledMessagesService } from './scheduled-messages.service';

/** Lookup order of the tables. `message` comes twice, since a scheduled message may become due between two lookups. */
const lookupOrder: MessageTable[] = ['message', 'scheduled_message', 'message'];

@Injectable()
export class MessagesService {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly messages: MessagesRepository,
    private readonly writer: MessageWriterService,
    private readonly contents: MessageContentService,
    private readonly scheduled: ScheduledMessagesService,
    private readonly tags: TagsRepository,
    private readonly signals: SignalsService,
    private readonly outgoingChanges: OutgoingChangesService,
  ) {}

  async create(caller: BotCaller, input: CreateMessage): Promise<MessageReply> {
    const dueAt = dueTime(input.schedule, new Date());
    if (!dueAt && caller.idempotencyKey === undefined) {
      const draft = { event_id: newId('evt'), ...draftOf(caller, input) };
      await this.contents.validate(scopeOf(caller), input.conversationId, draft);
      if (await this.isForIntegration(caller, draft)) return this.writeOutgoing(caller, draft);
      return { message: toMessage(caller, await this.writer.write(caller.bot.id, draft)) };
    }
    return this.idempotency.run(caller, operations.create, input, async (tx) => ({
      message: toMessage(caller, await this.writeIn(tx, caller, input, dueAt)),
    }));
  }

  /** A message of the bot that an integration delivers is announced with it: in one transaction, and not in a batch. */
  private async isForIntegration(caller: BotCaller, { user_id, conversation_id }: Draft): Promise<boolean> {
    return user_id === caller.bot.id && !(await this.contents.isInChat(scopeOf(caller), conversation_id));
  }

  private writeOutgoing(caller: BotCaller, draft: NewDraft): Promise<MessageReply> {
    return this.database.transaction(async (tx) => {
      const [row] = await this.writer.writeIn(tx, caller.bot.id, [draft]);
      return { message: toMessage(caller, row!) };
    });
  }

  async get(caller: BotCaller, { id }: MessageId): Promise<MessageReply> {
    for (const table of lookupOrder) {
      const row = await this.messages.findMessageById(scopeOf(caller), id, table);
      if (row) return { message: toMessage(caller, row) };
    }
    throw notFound('message', id);
  }

  getOrCreate(caller: BotCaller, input: GetOrCreateMessage): Promise<GottenOrCreatedMessage> {
    return this.idempotency.run(caller, operations.getOrCreate, input, async (tx) => {
      const { row, created } = await this.getOrCreateIn(tx, caller, input);
      return { message: toMessage(caller, row), meta: { created } };
    });
  }

  /** Holds a lock on the identifying tags until the end of the transaction if the message is created. */
  async getOrCreateIn(
    tx: Transaction,
    caller: BotCaller,
    input: GetOrCreateMessage,
  ): Promise<{ row: MessageEntity; created: boolean }> {
    const dueAt = dueTime(input.schedule, new Date());
    const { conversationId } = input;
    const scope = scopeOf(caller);
    const identifyingTags = storedNames(caller, discriminatingTags(input));
    const isIdentified = Object.keys(identifyingTags).length > 0;
    const find = async () => {
      if (!isIdentified) return undefined;
      const [row] = await this.messages.findOldestMessagesByTags(tx, scope, [
        { conversation_id: conversationId, tags: identifyingTags },
      ]);
      return row;
    };
    const found = await find();
    if (found) return { row: found, created: false };
    if (isIdentified) await lockTags(tx, ['message', scope.botId, conversationId], identifyingTags);
    const other = await find();
    return { row: other || (await this.writeIn(tx, caller, input, dueAt)), created: !other };
  }

  async list(caller: BotCaller, query: ListMessages): Promise<Messages> {
    const tags = query.tags && storedNames(caller, query.tags);
    const { rows, nextToken } = await this.messages.listMessages(scopeOf(caller), { ...query, tags });
    return { messages: rows.map((row) => toMessage(caller, row)), meta: { nextToken } };
  }

  async update(caller: BotCaller, { id, tags, payload }: UpdateMessage): Promise<MessageReply> {
    const listeners = await this.outgoingChanges.findListeners(caller, 'message_updated');
    const found = listeners.length > 0 && (await this.messages.findMessageById(scopeOf(caller), id, 'message'));
    return this.database.transaction(async (tx) => {
      if (found) await this.signals.lockClock(tx, caller.bot.id, found.conversation_id);
      const { before, table } = await this.lock(tx, caller, id);
      const { conversation_id, type } = before;
      if (payload) await this.contents.validateUpdate(scopeOf(caller), conversation_id, { type, payload }, tx);
      const after = await this.messages.updateMessage(
        tx,
        before,
        {
          payload: payload ?? before.payload,
          tags: mergedTags(before.tags, storedNames(caller, tags ?? {}), maxTags),
        },
        table,
      );
      if (table === 'message') await this.tags.replaceTags(tx, 'message', after, before.tags, after.tags);
      if (found && isDelivered(after))
        await this.outgoingChanges.add(tx, caller.bot.id, listeners, {
          ...{ conversationId: conversation_id, alias: before.integration_alias, messageId: id },
          states: (viewer) => ({ previous: toMessage(viewer, before), current: toMessage(viewer, after) }),
        });
      return { message: toMessage(caller, after) };
    });
  }

  async delete(caller: BotCaller, { id }: MessageId): Promise<object> {
    for (const table of lookupOrder) {
      const row = await this.messages.findMessageById(scopeOf(caller), id, table);
      if (row && (await (table === 'message' ? this.remove(row) : this.scheduled.cancel(row)))) return {};
    }
    throw notFound('message', id);
  }

  /** False if another request has deleted it. Sends the signal message_deleted. */
  private remove(row: MessageEntity): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      await this.signals.lockClock(tx, row.bot_id, row.conversation_id);
      const gone = await this.messages.deleteMessage(tx, row);
      if (!gone) return false;
      await this.tags.removeTags(tx, 'message', gone, gone.tags);
      const data = {
        id: gone.id,
        conversationId: gone.conversation_foreign_id ?? gone.conversation_id,
        userId: gone.user_foreign_id ?? gone.user_id,
      };
      await this.signals.add(tx, gone.bot_id, gone.conversation_id, [{ type: 'message_deleted', data }]);
      return true;
    });
  }

  private async writeIn(
    tx: Transaction,
    caller: BotCaller,
    input: GetOrCreateMessage,
    dueAt: Date | undefined,
  ): Promise<MessageEntity> {
    const draft = { event_id: newId('evt'), ...draftOf(caller, input) };
    await this.contents.validate(scopeOf(caller), input.conversationId, draft, tx);
    if (dueAt) return this.scheduled.add(tx, caller.bot.id, { ...draft, due_at: dueAt.toISOString() });
    const [row] = await this.writer.writeIn(tx, caller.bot.id, [draft]);
    return row!;
  }

  private async lock(tx: Transaction, caller: BotCaller, id: string) {
    for (const table of lookupOrder) {
      const before = await this.messages.lockMessage(tx, scopeOf(caller), id, table);
      if (before) return { before, table };
    }
    throw notFound('message', id);
  }
}
