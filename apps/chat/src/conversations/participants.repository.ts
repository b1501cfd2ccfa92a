import { Injectable } from '@nestjs/common';
import type { PageQuery } from '@parley/contracts/paging';
import { Database, type Sql } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import type { UserEntity } from '../users/user.entity';

interface ParticipantRow extends UserEntity {
  joined_at: Date;
}

const byJoining = new Keyset<ParticipantRow>(
  [
    { sql: 'p.joined_at', type: 'timestamptz', of: (row) => row.joined_at },
    { sql: 'p.user_id', type: 'text', of: (row) => row.id },
  ],
  'asc',
);

@Injectable()
export class ParticipantsRepository {
  constructor(private readonly database: Database) {}

  async insertParticipant(tx: Sql, botId: string, conversationId: string, userId: string): Promise<boolean> {
    const rows = await tx.query(
      `INSERT INTO participant (bot_id, conversation_id, user_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING 1`,
      [botId, conversationId, userId],
    );
    return rows.length > 0;
  }

  /** True if the user was a participant. The caller must hold the clock lock of the conversation. */
  async deleteParticipant(tx: Sql, botId: string, conversationId: string, userId: string): Promise<boolean> {
    const rows = await tx.query(
      `WITH gone AS (
         DELETE FROM participant WHERE bot_id = $1 AND conversation_id = $2 AND user_id = $3 RETURNING 1),
       counted AS (
         UPDATE conversation_clock SET removals = removals + 1
         WHERE bot_id = $1 AND conversation_id = $2 AND EXISTS (SELECT FROM gone))
       SELECT FROM gone`,
      [botId, conversationId, userId],
    );
    return rows.length > 0;
  }

  async findParticipant(botId: string, conversationId: string, userId: string): Promise<UserEntity | undefined> {
    const [row] = await this.database.query<UserEntity>(
      `SELECT u.* FROM participant p JOIN "user" u ON u.bot_id = $1 AND u.id = p.user_id
       WHERE p.bot_id = $1 AND p.conversation_id = $2 AND p.user_id = $3`,
      [botId, conversationId, userId],
    );
    return row;
  }

  /** In join order. Index participant_joined, then the primary key of each user. */
  async listParticipants(botId: string, conversationId: string, query: PageQuery) {
    const limit = pageSize(query);
    const boundTo = [botId, conversationId];
    const values: unknown[] = [botId, conversationId];
    const rows = await this.database.query<ParticipantRow>(
      `SELECT u.*, p.joined_at FROM participant p JOIN "user" u ON u.bot_id = $1 AND u.id = p.user_id
       WHERE p.bot_id = $1 AND p.conversation_id = $2 AND ${byJoining.after(query.nextToken, boundTo, values)}
       ORDER BY ${byJoining.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return byJoining.page(rows, limit, boundTo);
  }
}
