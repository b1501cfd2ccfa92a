import type { EventsPending } from '@parley/contracts/chat/deliveries';

/** Columns of an event that became `pending`. */
export interface PendingRow {
  bot_id: string;
  id: string;
  type: string;
  conversation_id: string | null;
  user_id: string | null;
  workflow_id: string | null;
}

/** The longest types and ids fit the size limit of the outbox. */
const maxEvents = 200;

/** Announcements for the outbox: the events of each bot in the given order, at most 200 together. */
export function announcementsOf(rows: PendingRow[]): EventsPending[] {
  const latest = new Map<string, EventsPending>();
  const announcements: EventsPending[] = [];
  for (const { bot_id: botId, id, type, ...references } of rows) {
    let announcement = latest.get(botId);
    if (!announcement || announcement.events.length === maxEvents) {
      announcement = { botId, events: [] };
      latest.set(botId, announcement);
      announcements.push(announcement);
    }
    announcement.events.push({
      id,
      type,
      conversationId: references.conversation_id ?? undefined,
      userId: references.user_id ?? undefined,
      workflowId: references.workflow_id ?? undefined,
    });
  }
  return announcements;
}
