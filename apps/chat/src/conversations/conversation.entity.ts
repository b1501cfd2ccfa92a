import type { BotCaller } from '@parley/contracts/access';
import type { Conversation } from '@parley/contracts/chat/conversations';
import { shownNames } from '../runtime/scope';

/** Row of `conversation`, joined with the message count of its `conversation_clock`. */
export interface ConversationRow {
  bot_id: string;
  id: string;
  integration_alias: string;
  /** Integration version id. */
  integration_id: string;
  channel: string;
  /** True for a conversation of the native chat: its changes are sent as signals to listening clients. */
  is_chat: boolean;
  tags: Record<string, string>;
  properties: Record<string, string>;
  foreign_id: string | null;
  owner_id: string | null;
  current_task_id: string | null;
  current_workflow_id: string | null;
  message_count: number;
  created_at: Date;
  updated_at: Date;
}

export function toConversation(caller: Pick<BotCaller, 'integration'>, row: ConversationRow): Conversation {
  return {
    id: row.id,
    currentTaskId: row.current_task_id ?? undefined,
    currentWorkflowId: row.current_workflow_id ?? undefined,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    channel: row.channel,
    integration: row.integration_alias,
    tags: shownNames(caller, row.tags),
    messageCount: row.message_count,
    properties: row.properties,
  };
}
