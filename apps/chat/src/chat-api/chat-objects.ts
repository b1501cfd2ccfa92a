import { maxTagLength } from '@parley/contracts/chat/chat-fields';
import { ApiError } from '@parley/contracts/errors';
import type { ChatConversation } from '@parley/contracts/chat-api/conversations';
import type { ChatEvent } from '@parley/contracts/chat-api/messages';
import type { ChatUser } from '@parley/contracts/chat-api/users';
import { isRecord } from '@parley/contracts/is-record';
import type { ConversationEntity } from '../conversations/conversation.entity';
import type { EventEntity } from '../events/event.entity';
import type { UserEntity } from '../users/user.entity';

/** Id shown to users: the foreign id if there is one, otherwise the platform id. */
export function shownId({ id, foreign_id }: { id: string; foreign_id: string | null }): string {
  return foreign_id ?? id;
}

export function toChatUser(row: UserEntity): ChatUser {
  return {
    id: shownId(row),
    name: row.name || undefined,
    pictureUrl: row.picture_url || undefined,
    profile: row.profile || undefined,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
}

type ShownConversation = Pick<ConversationEntity, 'id' | 'foreign_id' | 'created_at' | 'updated_at'>;

export function toChatConversation(row: ShownConversation): ChatConversation {
  return { id: shownId(row), createdAt: row.created_at.toISOString(), updatedAt: row.updated_at.toISOString() };
}

type CustomEvent = Pick<EventEntity, 'id' | 'created_at' | 'payload'>;

/** Client format: only the payload that the user sent, without the ids added for the bot. */
export function toChatEvent(
  { id, created_at, payload }: CustomEvent,
  shown: { userId: string; conversationId: string },
): ChatEvent {
  const own = payload?.['payload'];
  return { id, createdAt: created_at.toISOString(), payload: isRecord(own) ? own : {}, ...shown };
}

/** Tags shown to the bot. Values longer than a tag allows are left out. */
export function tagsOf(alias: string, tags: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(tags).flatMap(([name, value]) =>
      value && value.length <= maxTagLength ? [[`${alias}:${name}`, value]] : [],
    ),
  );
}

export function idTaken(id: string): ApiError {
  return new ApiError('AlreadyExists', `id: "${id}" is taken. Choose another one.`);
}
