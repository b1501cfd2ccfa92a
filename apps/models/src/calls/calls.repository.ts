import { Injectable } from '@nestjs/common';
import type { ListModelCalls } from '@parley/contracts/models/calls';
import { columnsOf } from '@parley/persistence/columns';
import { Database } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { ModelCallEntity } from '../budgets/model-call.entity';

/** Ids grow with time. */
const newestFirst = new Keyset<ModelCallEntity>([{ sql: 'id', type: 'text', of: ({ id }) => id }], 'desc');

@Injectable()
export class CallsRepository {
  constructor(private readonly database: Database) {}

  /** Indexes model_call_of_bot, model_call_of_event and model_call_of_conversation. */
  async list(
    botId: string,
    { nextToken, ...query }: ListModelCalls,
  ): Promise<{ rows: ModelCallEntity[]; nextToken?: string }> {
    const values: unknown[] = [botId];
    const limit = pageSize(query);
    const conditions = (
      [
        ['event_id', query.eventId],
        ['conversation_id', query.conversationId],
      ] as const
    ).flatMap(([column, value]) => (value === undefined ? [] : [`${column} = $${values.push(value)}`]));
    conditions.push(newestFirst.after(nextToken, [botId, query], values));
    const rows = await this.database.query<ModelCallEntity>(
      `SELECT ${columnsOf(ModelCallEntity, 'model_call')} FROM model_call
       WHERE bot_id = $1 AND ${conditions.join(' AND ')} ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, [botId, query]);
  }
}
