import { Injectable } from '@nestjs/common';
import { notFound } from '@parley/contracts/errors';
import { Database, type Sql } from '@parley/persistence/database';
import { isForeignKeyViolation } from '@parley/persistence/errors';
import { newId, newUlid } from '@parley/persistence/ids';
import { toJsonb, toText } from '@parley/persistence/storable';
import type { JobEntity, JobRow, JobTask, TakenJob } from './job.entity';

export interface NewJob {
  botId: string;
  tableId: string;
  task: JobTask;
}

export interface Step {
  /** Absolute, unlike the counts: a row id or row number, depending on the job. */
  position: number;
  rows: number;
  failedRows: number;
  errors: string[];
  progress: number;
}

export interface Outcome {
  outputFileId?: string;
  warnings?: string[];
}

/** Heartbeat timeout, after which another worker may take the job. */
const staleAfterSeconds = 15;
export const maxJobsOfTable = 100;
export const maxErrors = 100;

const unfinished = `('pending', 'in_progress', 'finalizing')`;

/** Queue of jobs. Every update by a worker requires its lease. */
@Injectable()
export class JobsRepository {
  constructor(private readonly database: Database) {}

  /** Deletes the oldest ended jobs of the table beyond the retention. Throws ResourceNotFound when the table is gone. */
  async insertJob(tx: Sql, { botId, tableId, task }: NewJob): Promise<JobRow> {
    const inputFileId = task.type === 'import' ? task.fileId : null;
    const [row] = await tx
      .query<JobEntity>(
        `INSERT INTO job (id, bot_id, table_id, type, task, input_file_id) VALUES ($1, $2, $3, $4, $5, $6) RETURNING *`,
        [newId('job'), botId, tableId, task.type, toJsonb(task), inputFileId],
      )
      .catch((error: unknown) => {
        throw isForeignKeyViolation(error) ? notFound('table', tableId) : error;
      });
    await tx.query(
      `DELETE FROM job WHERE table_id = $1 AND status NOT IN ${unfinished}
         AND id < (SELECT id FROM job WHERE table_id = $1 ORDER BY id DESC OFFSET $2 LIMIT 1)`,
      [tableId, maxJobsOfTable - 1],
    );
    return toJobRow(row!);
  }

  async countUnfinished(sql: Sql, botId: string): Promise<number> {
    const [row] = await sql.query<{ count: string }>(
      `SELECT count(*) FROM job WHERE bot_id = $1 AND status IN ${unfinished}`,
      [botId],
    );
    return Number(row!.count);
  }

  async listNewestOfTable(tableId: string): Promise<JobRow[]> {
    const rows = await this.database.query<JobEntity>(
      'SELECT * FROM job WHERE table_id = $1 ORDER BY id DESC LIMIT $2',
      [tableId, maxJobsOfTable],
    );
    return rows.map(toJobRow);
  }

  /**
   * Claims the oldest due job without a live worker. A bot has one running job at a time, for fairness. An array of the
   * unfinished ids keeps the planner from scanning finished jobs. Index: job_unfinished.
   */
  async takeJob(worker: string): Promise<TakenJob | undefined> {
    return this.database.transaction(async (tx) => {
      // Serializes claims: concurrent ones could take two jobs of one bot.
      await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`${this.database.schema}:take-job`]);
      const [row] = await tx.query<JobEntity>(
        `WITH next AS (
           SELECT id FROM job
           WHERE id = ANY (ARRAY(SELECT id FROM job WHERE status IN ${unfinished}))
             AND status IN ${unfinished} AND due_at <= now()
             AND (heartbeat_at IS NULL OR heartbeat_at < now() - make_interval(secs => $3))
             AND NOT EXISTS (SELECT 1 FROM job AS other WHERE other.bot_id = job.bot_id AND other.status IN ${unfinished}
               AND other.id <> job.id AND other.heartbeat_at >= now() - make_interval(secs => $3))
           ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
         UPDATE job SET status = 'in_progress', lease = $1, worker = $2, heartbeat_at = now(), attempts = attempts + 1,
           updated_at = now()
         FROM next WHERE job.id = next.id RETURNING job.*`,
        [newUlid(), worker, staleAfterSeconds],
      );
      return row && (toJobRow(row) as TakenJob);
    });
  }

  /** Heartbeat. False when the lease is lost. */
  async recordHeartbeat({ id, lease }: TakenJob, progress: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE job SET heartbeat_at = now(), updated_at = now(), progress = greatest(progress, $3)
       WHERE id = $1 AND lease = $2 RETURNING 1`,
      [id, lease, progress],
    );
    return rows.length > 0;
  }

  /** Records progress in the transaction of the work. False when the lease is lost: the work has to be rolled back. */
  async recordStep(sql: Sql, { id, lease }: TakenJob, step: Step): Promise<boolean> {
    const rows = await sql.query(
      `UPDATE job SET heartbeat_at = now(), updated_at = now(), attempts = 1, position = $3, rows = rows + $4,
         failed_rows = failed_rows + $5, errors = (errors || $6::text[])[1:$7], progress = greatest(progress, $8)
       WHERE id = $1 AND lease = $2 RETURNING 1`,
      [id, lease, step.position, step.rows, step.failedRows, step.errors.map(toText), maxErrors, step.progress],
    );
    return rows.length > 0;
  }

  async updateTask({ id, lease }: TakenJob, task: JobTask): Promise<void> {
    await this.database.query('UPDATE job SET task = $3 WHERE id = $1 AND lease = $2', [id, lease, toJsonb(task)]);
  }

  async markFinalizing({ id, lease }: TakenJob): Promise<void> {
    await this.database.query(`UPDATE job SET status = 'finalizing', updated_at = now() WHERE id = $1 AND lease = $2`, [
      id,
      lease,
    ]);
  }

  async completeJob({ id, lease }: TakenJob, { outputFileId, warnings = [] }: Outcome): Promise<void> {
    await this.database.query(
      `UPDATE job SET status = 'completed', progress = 100, output_file_id = $3, warnings = $4, lease = NULL,
         heartbeat_at = NULL, updated_at = now()
       WHERE id = $1 AND lease = $2`,
      [id, lease, outputFileId ?? null, warnings.map(toText)],
    );
  }

  async failJob({ id, lease }: TakenJob, reason: string): Promise<void> {
    await this.database.query(
      `UPDATE job SET status = 'failed', failed_reason = $3, lease = NULL, heartbeat_at = NULL, updated_at = now()
       WHERE id = $1 AND lease = $2`,
      [id, lease, toText(reason)],
    );
  }

  async releaseForRetry({ id, lease }: TakenJob, pauseSeconds: number): Promise<void> {
    await this.database.query(
      `UPDATE job SET lease = NULL, heartbeat_at = NULL, due_at = now() + make_interval(secs => $3)
       WHERE id = $1 AND lease = $2`,
      [id, lease, pauseSeconds],
    );
  }

  /** Releases the job at shutdown, without counting the attempt. */
  async giveBack({ id, lease }: TakenJob): Promise<void> {
    await this.database.query(
      'UPDATE job SET lease = NULL, heartbeat_at = NULL, attempts = attempts - 1 WHERE id = $1 AND lease = $2',
      [id, lease],
    );
  }

  async releaseAllOf(worker: string): Promise<void> {
    await this.database.query(
      `UPDATE job SET lease = NULL, heartbeat_at = NULL WHERE worker = $1 AND status IN ${unfinished}`,
      [worker],
    );
  }
}

function toJobRow(row: JobEntity): JobRow {
  return { ...row, position: Number(row.position), rows: Number(row.rows), failed_rows: Number(row.failed_rows) };
}
