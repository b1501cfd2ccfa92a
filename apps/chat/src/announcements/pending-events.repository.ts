import { Injectable } from '@nestjs/common';
import type { BotTargetChanged } from '@parley/contracts/admin/targets';
import { eventsPending, type EventsPending } from '@parley/contracts/chat/deliveries';
import { insertEventsOf, Outbox } from '@parley/events/outbox';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { toJsonb } from '@parley/persistence/storable';
import { currentTraceparent } from '@parley/tracing/tracing';

/** SQL condition: events are delivered to the bot. Index: the primary key. */
export const isCalled = (botId: string) =>
  `EXISTS (SELECT FROM called_bot WHERE called_bot.bot_id = ${botId} AND is_called)`;

const announce = insertEventsOf(
  eventsPending,
  `SELECT id, data, $2::text FROM jsonb_to_recordset($1) AS entry (id text, data jsonb)
   WHERE ${isCalled(`data ->> 'botId'`)}`,
);

@Injectable()
export class PendingEventsRepository {
  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  /** Announces events that became pending in this transaction, in the given order. Skips those of bots that are not called. */
  async announceEvents(tx: Transaction, rows: PendingRow[]): Promise<void> {
    if (rows.length === 0) return;
    const entries = announcementsOf(rows).map((data) => ({ id: newId('outbox'), data }));
    const written = await tx.query(`${announce} RETURNING 1`, [toJsonb(entries), currentTraceparent() ?? null]);
    if (written.length > 0) tx.afterCommit(() => this.outbox.wake());
  }

  /** True if the bot is called from now on and was not before. False if this or a newer revision was stored before. */
  async storeNewerTarget(
    tx: Sql,
    { botId, isCalled, revision }: Omit<BotTargetChanged, 'isDeployed'>,
  ): Promise<boolean> {
    const [row] = await tx.query<{ is_new: boolean }>(
      `INSERT INTO called_bot (bot_id, is_called, revision)
       SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM dropped_bot WHERE bot_id = $1)
       ON CONFLICT (bot_id) DO UPDATE SET is_called = excluded.is_called, revision = excluded.revision
       WHERE called_bot.revision < excluded.revision
       RETURNING is_called AND NOT EXISTS (
         SELECT FROM called_bot former WHERE former.bot_id = $1 AND former.is_called) AS is_new`,
      [botId, isCalled, revision],
    );
    return row?.is_new ?? false;
  }

  /** Ignores at most `limit` events that were pending for longer. Returns the number. Index event_status. */
  async ignoreOldEvents(botId: string, hours: number, limit: number): Promise<number> {
    const rows = await this.database.query(
      `UPDATE event SET status = 'ignored', failure_reason = $3
       WHERE bot_id = $1 AND id = ANY (ARRAY(
         SELECT id FROM event
         WHERE bot_id = $1 AND status = 'pending' AND greatest(created_at, due_at) < now() - $2 * interval '1 hour'
         ORDER BY id LIMIT $4 FOR NO KEY UPDATE))
       RETURNING 1`,
      [botId, hours, `The bot had no url for ${hours} hours.`, limit],
    );
    return rows.length;
  }

  /** Announces the next pending events and returns the id of the last one; undefined if none follow. Index event_status. */
  async announcePendingAfter(tx: Transaction, botId: string, id: string, limit: number): Promise<string | undefined> {
    const rows = await tx.query<PendingRow>(
      `SELECT bot_id, id, type, conversation_id, user_id, workflow_id FROM event
       WHERE bot_id = $1 AND status = 'pending' AND id > $2 ORDER BY id LIMIT $3`,
      [botId, id, limit],
    );
    await this.announceEvents(tx, rows);
    return rows.length === limit ? rows.at(-1)!.id : undefined;
  }
}

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
