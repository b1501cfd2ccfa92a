import { Injectable } from '@nestjs/common';
import { notFound } from '@parley/contracts/errors';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { isForeignKeyViolation } from '@parley/persistence/errors';
import { newId } from '@parley/persistence/ids';
import { toJsonb, toText } from '@parley/persistence/storable';
import { queue } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import type { JobEntity, JobRow, JobTask } from './job.entity';

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

/** Ids of jobs. A bot has one running job at a time. */
export const runJobs = queue('tables.jobs', { isOrdered: true });

export const maxJobsOfTable = 100;
export const maxErrors = 100;

const unfinished = `('pending', 'in_progress', 'finalizing')`;

/** Jobs. The caller of an update by `tx` holds the lease. */
@Injectable()
export class JobsRepository {
  constructor(
    private readonly database: Database,
    private readonly queue: WorkQueue,
  ) {}

  /** Starts the job after the commit. It is deleted with its table. Throws ResourceNotFound when the table is gone. */
  async queueJob(tx: Transaction, job: NewJob): Promise<JobRow> {
    const { botId } = job;
    const row = await this.insertJob(tx, job);
    await this.queue.add(tx, runJobs, [{ key: row.id, tenant: botId, orderingKey: botId, payload: null }]);
    return row;
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

  /** Undefined when the job has ended or was deleted with its table. */
  async startJob(id: string): Promise<JobRow | undefined> {
    const [row] = await this.database.query<JobEntity>(
      `UPDATE job SET status = 'in_progress', updated_at = now() WHERE id = $1 AND status IN ${unfinished} RETURNING *`,
      [id],
    );
    return row && toJobRow(row);
  }

  async recordProgress(id: string, progress: number): Promise<void> {
    await this.database.query('UPDATE job SET updated_at = now(), progress = greatest(progress, $2) WHERE id = $1', [
      id,
      progress,
    ]);
  }

  /** Records progress in the transaction of the work. False when the job was deleted with its table. */
  async recordStep(tx: Sql, id: string, step: Step): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE job SET updated_at = now(), position = $2, rows = rows + $3, failed_rows = failed_rows + $4,
         errors = (errors || $5::text[])[1:$6], progress = greatest(progress, $7)
       WHERE id = $1 RETURNING 1`,
      [id, step.position, step.rows, step.failedRows, step.errors.map(toText), maxErrors, step.progress],
    );
    return rows.length > 0;
  }

  async updateTask(tx: Sql, id: string, task: JobTask): Promise<void> {
    await tx.query('UPDATE job SET task = $2 WHERE id = $1', [id, toJsonb(task)]);
  }

  async markFinalizing(tx: Sql, id: string): Promise<void> {
    await tx.query(`UPDATE job SET status = 'finalizing', updated_at = now() WHERE id = $1`, [id]);
  }

  async completeJob(tx: Sql, id: string, { outputFileId, warnings = [] }: Outcome): Promise<void> {
    await tx.query(
      `UPDATE job SET status = 'completed', progress = 100, output_file_id = $2, warnings = $3, updated_at = now()
       WHERE id = $1`,
      [id, outputFileId ?? null, warnings.map(toText)],
    );
  }

  async failJob(sql: Sql, id: string, reason: string): Promise<void> {
    await sql.query(
      `UPDATE job SET status = 'failed', failed_reason = $2, updated_at = now() WHERE id = $1 AND status IN ${unfinished}`,
      [id, toText(reason)],
    );
  }

  /** Deletes the oldest ended jobs of the table beyond the retention. */
  private async insertJob(tx: Sql, { botId, tableId, task }: NewJob): Promise<JobRow> {
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
}

function toJobRow(row: JobEntity): JobRow {
  return { ...row, position: Number(row.position), rows: Number(row.rows), failed_rows: Number(row.failed_rows) };
}
