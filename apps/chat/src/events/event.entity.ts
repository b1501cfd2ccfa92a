import type { BotCaller } from '@parley/contracts/access';
import type { Event, EventStatus } from '@parley/contracts/chat/events';
import { shownName } from '../runtime/scope';

export interface EventRow {
  bot_id: string;
  id: string;
  /** As the bot sees it: types of integrations have the form `alias:type`. */
  type: string;
  /** Null for `message_created`: assembled on read from the message, its user and its conversation. */
  payload: Record<string, unknown> | null;
  integration_alias: string | null;
  conversation_id: string | null;
  user_id: string | null;
  message_id: string | null;
  workflow_id: string | null;
  status: EventStatus;
  failure_reason: string | null;
  /** Null if the event was never scheduled. */
  due_at: Date | null;
  created_at: Date;
}

export function toEvent(
  caller: Pick<BotCaller, 'integration'>,
  row: EventRow,
  payload: Record<string, unknown>,
): Event {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    type: shownName(caller, row.type) ?? row.type,
    payload,
    conversationId: row.conversation_id ?? undefined,
    userId: row.user_id ?? undefined,
    messageId: row.message_id ?? undefined,
    status: row.status,
    failureReason: row.failure_reason,
  };
}
