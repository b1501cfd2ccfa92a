import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import type { UserEntity } from '../users/user.entity';
import { idOrNone, byForeignOrPlatformId } from './lookup-sql';

const newestParticipants = new Keyset<UserEntity & { joined_at: Date }>([
  { sql: 'p.joined_at', type: 'timestamptz', of: (row) => row.joined_at },
  { sql: 'p.user_id', type: 'text', of: (row) => row.id },
]);
const limit = pageSize({});

@Injectable()
export class ChatParticipantsRepository {
  constructor(private readonly database: Database) {}

  /** Participants include users of other integrations. */
  async findChatParticipant(botId: string, conversationId: string, name: string): Promise<UserEntity | undefined> {
    const [row] = await this.database.query<UserEntity>(
      `SELECT u.* FROM ${byForeignOrPlatformId('"user"', 'true', '$3')} u
       JOIN participant p ON p.bot_id = $1 AND p.conversation_id = $2 AND p.user_id = u.id`,
      [botId, conversationId, idOrNone(name)],
    );
    return row;
  }

  /** Index participant_joined, then the primary key of each user. */
  async listChatParticipants(botId: string, conversationId: string, nextToken?: string) {
    const boundTo = ['participants', botId, conversationId];
    const values: unknown[] = [botId, conversationId];
    const rows = await this.database.query<UserEntity & { joined_at: Date }>(
      `SELECT u.*, p.joined_at FROM participant p JOIN "user" u ON u.bot_id = $1 AND u.id = p.user_id
       WHERE p.bot_id = $1 AND p.conversation_id = $2 AND ${newestParticipants.after(nextToken, boundTo, values)}
       ORDER BY ${newestParticipants.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestParticipants.page(rows, limit, boundTo);
  }
}
