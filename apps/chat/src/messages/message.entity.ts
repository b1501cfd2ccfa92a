import type { BotCaller } from '@parley/contracts/access';
import type { Direction, Message } from '@parley/contracts/chat/messages';
import { shownNames } from '../runtime/scope';

export interface MessageRow {
  bot_id: string;
  id: string;
  conversation_id: string;
  /** Author; the bot's own id if the bot wrote it. */
  user_id: string;
  type: string;
  payload: Record<string, unknown>;
  tags: Record<string, string>;
  direction: Direction;
  origin: 'synthetic' | null;
  /** Strictly increasing within a conversation, except for imported messages, which keep the given time. */
  created_at: Date;
  updated_at: Date;
}

export interface ScheduledMessageRow extends MessageRow {
  due_at: Date;
}

export function toMessage(caller: Pick<BotCaller, 'integration'>, row: MessageRow): Message {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    type: row.type,
    payload: row.payload,
    direction: row.direction,
    userId: row.user_id,
    conversationId: row.conversation_id,
    tags: shownNames(caller, row.tags),
    origin: row.origin ?? undefined,
  };
}
