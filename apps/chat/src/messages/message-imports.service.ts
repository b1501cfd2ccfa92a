import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import {
  type ImportedMessages,
  type ImportMessages,
  messages as operations,
  type MessageToImport,
} from '@parley/contracts/chat/messages';
import { ApiError } from '@parley/contracts/errors';
import type { Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { scopeOf, storedNames } from '../queries/scope';
import { discriminatingTags, lockAllTags } from '../tags/object-tags';
import { draftOf } from './draft';
import { MessageContentService } from './message-content.service';
import { type MessageEntity, toMessage } from './message.entity';
import { MessageWriterService } from './message-writer.service';
import { MessagesRepository } from './messages.repository';
import { type ImportedDraft, NewMessagesRepository } from './new-messages.repository';

interface Entry {
  draft: ImportedDraft;
  tags: Record<string, string>;
  /** Deduplication key: equal for entries with the same conversation and discriminating tags. */
  identity: string;
}

/** Imports messages with their own creation times. Atomic: all messages of a request or none. */
@Injectable()
export class MessageImportsService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly messages: MessagesRepository,
    private readonly newMessages: NewMessagesRepository,
    private readonly writer: MessageWriterService,
    private readonly contents: MessageContentService,
  ) {}

  async import(caller: BotCaller, input: ImportMessages): Promise<ImportedMessages> {
    const entries = input.messages.map((message, index) => withPosition(index, () => entryOf(caller, message)));
    return this.idempotency.run(caller, operations.import, input, async (tx) => {
      const rows = await this.findOrWrite(tx, caller, entries);
      return { messages: entries.map(({ identity }) => toMessage(caller, rows.get(identity)!)) };
    });
  }

  private async findOrWrite(tx: Transaction, caller: BotCaller, entries: Entry[]): Promise<Map<string, MessageEntity>> {
    const different = [...new Map(entries.map((entry) => [entry.identity, entry])).values()];
    const rows = await this.find(tx, caller, different);
    const fresh = entries.filter(({ identity }, index) => {
      return !rows.has(identity) && entries.findIndex((entry) => entry.identity === identity) === index;
    });
    for (const { draft } of fresh) {
      const check = this.contents.validate(scopeOf(caller), draft.conversation_id, draft, tx);
      await check.catch((error: unknown) => {
        throw atPosition(
          entries.findIndex((entry) => entry.draft === draft),
          error,
        );
      });
    }
    const written = await this.newMessages.importInTransaction(
      tx,
      caller.bot.id,
      fresh.map(({ draft }) => draft),
    );
    for (const [index, { identity, draft }] of fresh.entries()) {
      const row = written[index];
      if (!row)
        throw atPosition(entries.indexOf(fresh[index]!), await this.writer.obstacleTo(caller.bot.id, draft, tx));
      rows.set(identity, row);
    }
    return rows;
  }

  /** Existing messages by identity. Advisory locks on the tags prevent concurrent inserts of the others. */
  private async find(tx: Transaction, caller: BotCaller, entries: Entry[]): Promise<Map<string, MessageEntity>> {
    const scope = scopeOf(caller);
    const identified = entries.filter(({ tags }) => Object.keys(tags).length > 0);
    if (identified.length === 0) return new Map();
    const messages = identified.map(({ draft, tags }) => ({ conversation_id: draft.conversation_id, tags }));
    await lockAllTags(
      tx,
      messages.map(({ conversation_id, tags }) => [['message', scope.botId, conversation_id], tags]),
    );
    const rows = await this.messages.findOldestMessagesByTags(tx, scope, messages);
    return new Map(identified.flatMap(({ identity }, index) => (rows[index] ? [[identity, rows[index]]] : [])));
  }
}

function entryOf(caller: BotCaller, message: MessageToImport): Entry {
  const createdAt = new Date(message.createdAt);
  if (Number.isNaN(createdAt.getTime()))
    throw new ApiError('InvalidPayload', 'createdAt must be a time such as 2026-01-31T12:00:00.000Z.');
  if (createdAt.getTime() > Date.now()) throw new ApiError('InvalidPayload', 'createdAt must not be in the future.');
  const tags = storedNames(caller, discriminatingTags(message));
  const draft = { ...draftOf(caller, message), created_at: createdAt.toISOString() };
  const names = Object.keys(tags).sort();
  const identity =
    names.length === 0 ? draft.id : JSON.stringify([draft.conversation_id, names, names.map((name) => tags[name])]);
  return { draft, tags, identity };
}

function withPosition<T>(index: number, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw atPosition(index, error);
  }
}

function atPosition(index: number, error: unknown): unknown {
  return error instanceof ApiError ? new ApiError(error.type, `messages[${index}].${error.message}`) : error;
}
