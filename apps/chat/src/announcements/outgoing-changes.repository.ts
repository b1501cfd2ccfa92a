import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { toJsonb } from '@parley/persistence/storable';
import type { OutgoingChangeEntity } from './outgoing-change.entity';

@Injectable()
export class OutgoingChangesRepository {
  constructor(private readonly database: Database) {}

  /** Ticks the clock of the conversation, whose lock it requires: messages and changes are in one order. */
  async insertChange(sql: Sql, change: Omit<OutgoingChangeEntity, 'created_at'>): Promise<void> {
    await sql.query(
      `WITH ticked AS (
         UPDATE conversation_clock SET last_message_at =
           greatest(date_trunc('milliseconds', clock_timestamp()), last_message_at + interval '1 ms')
         WHERE bot_id = $1 AND conversation_id = $3 RETURNING last_message_at)
       INSERT INTO outgoing_change (bot_id, id, conversation_id, message_id, previous, current, created_at)
       SELECT $1, $2, $3, $4, $5, $6, last_message_at FROM ticked`,
      [
        ...[change.bot_id, change.id, change.conversation_id, change.message_id],
        ...[toJsonb(change.previous), toJsonb(change.current)],
      ],
    );
  }

  /** Primary key. */
  async findChange(botId: string, id: string): Promise<OutgoingChangeEntity | undefined> {
    const [row] = await this.database.query<OutgoingChangeEntity>(
      'SELECT * FROM outgoing_change WHERE bot_id = $1 AND id = $2',
      [botId, id],
    );
    return row;
  }

  /** Index outgoing_change_created. */
  async deleteOlderThan(hours: number): Promise<void> {
    await deleteOlder(this.database, 'outgoing_change', 'created_at', hours);
  }
}
