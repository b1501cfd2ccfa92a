import type { BotCaller } from '@parley/contracts/access';
import type { Conversation } from '@parley/contracts/chat/conversations';
import { shownNames } from '../runtime/scope';

/** A row of `conversation` with the count of its clock. */
export interface ConversationRow {
  bot_id: string;
  id: string;
  integration_alias: string;
  /** Version id. */
  integration_id: string;
  channel: string;
  /** Of the chat that comes with the platform: what happens in it is told to those who listen. */
  is_chat: boolean;
  tags: Record<string, string>;
  properties: Record<string, string>;
  foreign_id: string | null;
  /** The user of the chat who began it. */
  owner_id: string | null;
  current_task_id: string | null;
  current_workflow_id: string | null;
  message_count: number;
  created_at: Date;
  updated_at: Date;
}

/** As the caller may see it. */
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
