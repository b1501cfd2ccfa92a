import type { BotCaller } from '@parley/contracts/access';
import type { Direction, Message } from '@parley/contracts/chat/messages';
import { shownNames } from '../runtime/scope';

/** A row of `message`. */
export interface MessageRow {
  bot_id: string;
  id: string;
  conversation_id: string;
  /** The bot's own id when the bot wrote it. */
  user_id: string;
  type: string;
  payload: Record<string, unknown>;
  tags: Record<string, string>;
  direction: Direction;
  origin: 'synthetic' | null;
  /** Greater than that of every message which was in the conversation before; of an imported one as it was told. */
  created_at: Date;
  updated_at: Date;
}

/** A row of `scheduled_message`. */
export interface ScheduledMessageRow extends MessageRow {
  due_at: Date;
}

/** As the caller may see it. */
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
