import { Injectable } from '@nestjs/common';
import type { CaptureObservation, ListObservations } from '@parley/contracts/chat/analytics';
import { Database, type Sql } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { newId, timeOfId } from '@parley/persistence/ids';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import type { Scope } from '../queries/scope';
import type { ObservationEntity } from './observation.entity';

const newestFirst = new Keyset<ObservationEntity>([{ sql: 'id', type: 'text', of: (row) => row.id }], 'desc');

@Injectable()
export class ObservationsRepository {
  constructor(private readonly database: Database) {}

  async insertObservation(sql: Sql, { botId, alias }: Scope, observation: CaptureObservation): Promise<void> {
    const id = newId('obs');
    const { name, id: callerId, messageId, eventId, conversationId, userId, errorId, traceId } = observation;
    await sql.query(
      `INSERT INTO observation (bot_id, id, integration_alias, name, caller_id, data, message_id, event_id,
         conversation_id, user_id, error_id, trace_id, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      [
        ...[botId, id, alias, name, callerId, toJsonb(observation.data), messageId, eventId],
        ...[conversationId, userId, errorId, traceId, timeOfId(id)],
      ],
    );
  }

  /** Primary key; with a trace, index observation_trace. */
  async listObservations({ botId, traceId, ...query }: ListObservations) {
    const limit = pageSize(query);
    const boundTo = [botId, traceId];
    const values: unknown[] = [botId];
    const ofTrace = traceId === undefined ? '' : `AND trace_id = $${values.push(traceId)}`;
    const rows = await this.database.query<ObservationEntity>(
      `SELECT * FROM observation WHERE bot_id = $1 ${ofTrace} AND ${newestFirst.after(query.nextToken, boundTo, values)}
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, boundTo);
  }

  /** Index observation_created. */
  async deleteBefore(days: number): Promise<void> {
    await deleteOlder(this.database, 'observation', 'created_at', days * 24);
  }
}
