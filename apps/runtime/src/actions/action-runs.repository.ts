import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { ListActionRuns } from '@parley/contracts/runtime/actions';
import { columnsOf } from '@parley/persistence/columns';
import { Database } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import { Repository } from 'typeorm';
import { isNotErased } from '../records/erasure-queue';
import { ActionRunEntity } from './action-run.entity';

export type NewActionRun = Omit<ActionRunEntity, 'created_at'> & { created_at: string };

const newestFirst = new Keyset<ActionRunEntity>(
  [
    { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
    { sql: 'id', type: 'text', of: (row) => row.id },
  ],
  'desc',
);

@Injectable()
export class ActionRunsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(ActionRunEntity) private readonly runs: Repository<ActionRunEntity>,
  ) {}

  /** Drops the run of a bot under erasure. Primary keys of both tables. */
  async insertRun(run: NewActionRun): Promise<void> {
    await this.database.query(
      `INSERT INTO action_run SELECT run.* FROM jsonb_populate_record(NULL::action_run, $1) AS run
       WHERE ${isNotErased('run.bot_id')}`,
      [toJsonb(run)],
    );
  }

  /** Index action_run_of_bot or action_run_of_integration. */
  async listRuns({
    id: botId,
    integrationName,
    timestampFrom,
    timestampUntil,
    ...query
  }: ListActionRuns): Promise<{ rows: ActionRunEntity[]; nextToken?: string }> {
    const limit = pageSize(query);
    const values: unknown[] = [botId, timestampFrom ?? null, timestampUntil ?? null];
    const ofIntegration =
      integrationName === undefined ? 'true' : `integration_name = $${values.push(integrationName)}::text`;
    const boundTo = [botId, integrationName, timestampFrom, timestampUntil];
    const rows = await this.database.query<ActionRunEntity>(
      `SELECT ${columnsOf(ActionRunEntity, 'action_run')} FROM action_run
       WHERE bot_id = $1 AND ${ofIntegration} AND ${newestFirst.after(query.nextToken, boundTo, values)}
         AND created_at >= coalesce($2::timestamptz, '-infinity')
         AND created_at <= coalesce($3::timestamptz, 'infinity')
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, boundTo);
  }

  /** Index action_run_created. */
  async deleteBefore(days: number): Promise<void> {
    await deleteOlder(this.database, 'action_run', 'created_at', days * 24);
  }

  /** Returns how many were deleted, at most `limit`. Index action_run_of_bot. */
  async deleteOfBot(botId: string, limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM action_run WHERE bot_id = $1 AND id = ANY (ARRAY(
         SELECT id FROM action_run WHERE bot_id = $1 ORDER BY created_at LIMIT $2)) RETURNING 1`,
      [botId, limit],
    );
    return rows.length;
  }

  countOfBot(botId: string): Promise<number> {
    return this.runs.countBy({ bot_id: botId });
  }
}
