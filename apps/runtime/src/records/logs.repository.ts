import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { GetBotLogs, GetIntegrationLogs, LogLine } from '@parley/contracts/runtime/logs';
import { columnsOf } from '@parley/persistence/columns';
import { Database } from '@parley/persistence/database';
import { Keyset } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import { rotatePartitions } from '@parley/persistence/time-partitions';
import { Repository } from 'typeorm';
import { isNotErased } from './erasure-queue';
import { LogEntity } from './log.entity';

const pageSize = 200;
/** A day without a partition cannot come while one of the next two could not be created. */
const daysAhead = 2;

const newestFirst = new Keyset<LogEntity>(
  [
    { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
    { sql: 'id', type: 'text', of: (row) => row.id },
  ],
  'desc',
);

@Injectable()
export class LogsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(LogEntity) private readonly logs: Repository<LogEntity>,
  ) {}

  /** Lines with a known id, and lines of bots under erasure, are left out. Primary keys of both tables. */
  async insertLines(lines: LogLine[]): Promise<void> {
    const rows = lines.map(toRow);
    await this.database.query(
      `INSERT INTO log SELECT line.* FROM jsonb_populate_recordset(NULL::log, $1) AS line
       WHERE ${isNotErased('line.bot_id')}
       ON CONFLICT DO NOTHING`,
      [toJsonb(rows)],
    );
  }

  /** Primary key, index log_of_conversation or log_of_user. Other filters read the lines of the time range. */
  listOfBot(query: GetBotLogs): Promise<{ rows: LogEntity[]; nextToken?: string }> {
    return this.listLines('bot_id = $1 AND is_for_bot', query);
  }

  /** Index log_of_integration. */
  listOfIntegration(query: GetIntegrationLogs): Promise<{ rows: LogEntity[]; nextToken?: string }> {
    return this.listLines('integration_id = $1 AND is_for_owner', query);
  }

  private async listLines(condition: string, { nextToken, ...query }: GetBotLogs) {
    const { id, timeStart, timeEnd, messageContains } = query;
    const values: unknown[] = [id, timeStart];
    const equals = (
      [
        ['level', query.level],
        ['event_id', query.eventId],
        ['user_id', query.userId],
        ['workflow_id', query.workflowId],
        ['conversation_id', query.conversationId],
      ] as const
    ).flatMap(([column, value]) => (value === undefined ? [] : [`${column} = $${values.push(value)}`]));
    const conditions = [
      ...equals,
      ...(timeEnd === undefined ? [] : [`created_at <= $${values.push(timeEnd)}::timestamptz`]),
      ...(messageContains === undefined ? [] : [`message ILIKE $${values.push(containing(messageContains))}`]),
      newestFirst.after(nextToken, query, values),
    ];
    const rows = await this.database.query<LogEntity>(
      `SELECT ${columnsOf(LogEntity, 'log')} FROM log
       WHERE ${condition} AND created_at >= $2::timestamptz AND ${conditions.join(' AND ')}
       ORDER BY ${newestFirst.orderBy} LIMIT ${pageSize + 1}`,
      values,
    );
    return newestFirst.page(rows, pageSize, query);
  }

  /** Retention: drops whole days. */
  async rotate(keptDays: number): Promise<void> {
    await rotatePartitions(this.database, { table: 'log', unit: 'day', ahead: daysAhead, kept: keptDays });
  }

  /** Index log_of_conversation. */
  async deleteOfConversation(botId: string, conversationId: string): Promise<void> {
    await this.logs.delete({ bot_id: botId, conversation_id: conversationId });
  }

  /** Index log_of_user. */
  async deleteOfUser(botId: string, userId: string): Promise<void> {
    await this.logs.delete({ bot_id: botId, user_id: userId });
  }

  /** Returns how many were deleted, at most `limit`. Primary key. */
  async deleteOfBot(botId: string, limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM log USING (SELECT created_at, id FROM log WHERE bot_id = $1 ORDER BY created_at, id LIMIT $2) AS old
       WHERE log.bot_id = $1 AND log.created_at = old.created_at AND log.id = old.id RETURNING 1`,
      [botId, limit],
    );
    return rows.length;
  }

  countOfBot(botId: string): Promise<number> {
    return this.logs.countBy({ bot_id: botId });
  }
}

function toRow(line: LogLine) {
  return {
    ...{ bot_id: line.botId, id: line.id, created_at: line.timestamp, level: line.level, message: line.message },
    ...{ event_id: line.eventId, conversation_id: line.conversationId, user_id: line.userId },
    ...{ workflow_id: line.workflowId, trace_id: line.traceId, integration_id: line.integrationId },
    is_for_bot: line.integrationId === undefined || line.isForBot === true,
    is_for_owner: line.integrationId !== undefined && line.isForOwner !== false,
  };
}

/** Pattern of LIKE in which the text stands for itself. */
function containing(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, (character) => `\\${character}`)}%`;
}
