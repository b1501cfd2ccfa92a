import { Injectable } from '@nestjs/common';
import { chatPayloadTypes } from '@parley/contracts/chat/chat-payload';
import { ApiError } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import { atMostEntries } from '@parley/background/entry-limit';
import { LRUCache } from 'lru-cache';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { type Content, contentProblem } from '../signals/chat-payload';
import type { Scope } from '../queries/scope';

const maxConversations = 10_000;

interface Conversation {
  alias: string;
  isChat: boolean;
}

/**
 * Validates message content. In the native chat only its twelve types are allowed: its clients know no others. Other
 * integrations check for themselves which messages they can deliver.
 */
@Injectable()
export class MessageContentService {
  private readonly conversations = new LRUCache<string, Conversation>(atMostEntries(maxConversations));

  constructor(private readonly repository: ConversationsRepository) {}

  /**
   * Throws InvalidPayload for content that the native chat does not allow. Passes for an unknown conversation: the
   * write will fail.
   */
  async validate(scope: Scope, conversationId: string, content: Content, sql?: Sql): Promise<void> {
    if (!(await this.isInChat(scope, conversationId, sql))) return;
    const problem = contentProblem(content);
    if (problem) throw new ApiError('InvalidPayload', problem);
  }

  /** Like `validate`, but skips a message of an unknown type: it was stored before there was validation. */
  async validateUpdate(scope: Scope, conversationId: string, content: Content, sql?: Sql): Promise<void> {
    if (chatPayloadTypes.includes(content.type)) await this.validate(scope, conversationId, content, sql);
  }

  /** Whether the conversation is one of the native chat. False for an unknown one, and for one of another installation. */
  async isInChat(scope: Scope, conversationId: string, sql?: Sql): Promise<boolean> {
    const key = `${scope.botId} ${conversationId}`;
    const known = this.conversations.get(key);
    if (known) return known.isChat && (scope.alias === null || scope.alias === known.alias);
    const row = await this.repository.findConversationById(scope, conversationId, sql);
    if (row) this.conversations.set(key, { alias: row.integration_alias, isChat: row.is_chat });
    return row?.is_chat === true;
  }
}
