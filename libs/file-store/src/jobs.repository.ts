import { Injectable } from '@nestjs/common';
import { Database, type Sql, type Transaction } from '@parley/database/database';
import { newUlid } from '@parley/database/ids';
import type { FileRef, FileRow } from './file.entity';
import type { ContentVersion } from './passages.repository';

/** How far a worker has come with a content. */
export type Stage = 'announced' | 'taken' | 'parsed' | 'embedding' | 'written' | 'switching';

export interface TakenJob {
  file: FileRow;
  /** Names this one taking: whoever has lost the job, even to another try of the same process, holds an old one. */
  lease: string;
  /** This one included. */
  attempts: number;
  /** Why the try before this one ended. */
  lastError: string | null;
}

/** Seconds after which a worker that has not shown itself counts as gone. */
const staleAfterSeconds = 15;
/** Pause before a job that nobody took is announced again; it doubles each time, so that a long queue is not flooded. */
const announceAgainAfterSeconds = 60;
const maxDoublings = 6;

/** One row for each content version that is being indexed: who has it, how far it is, and when it last moved. */
@Injectable()
export class JobsRepository {
  constructor(private readonly database: Database) {}

  async create(tx: Sql, { botId, fileId, contentVersion }: ContentVersion): Promise<void> {
    await tx.query(
      `INSERT INTO indexing_job (file_id, content_version, bot_id) VALUES ($1, $2, $3)
       ON CONFLICT (file_id, content_version) DO UPDATE SET
         stage = 'announced', attempts = 0, taken_by = NULL, lease = NULL, heartbeat_at = NULL, announced_at = now(),
         announcements = 1`,
      [fileId, contentVersion, botId],
    );
  }

  /** The job, now this worker's; undefined when it is done, superseded, or in the hands of a worker that is alive. */
  async take({ fileId, contentVersion }: ContentVersion, worker: string): Promise<TakenJob | undefined> {
    const lease = newUlid();
    const [row] = await this.database.query<FileRow & Omit<TakenJob, 'file' | 'lease'>>(
      `WITH job AS (
         UPDATE indexing_job SET stage = 'taken', attempts = attempts + 1, taken_by = $3, lease = $5, heartbeat_at = now(),
           passages = NULL, passages_written = 0
         FROM file
         WHERE indexing_job.file_id = $1 AND indexing_job.content_version = $2
           AND file.id = $1 AND file.content_version = $2 AND file.status = 'indexing_pending'
           AND (heartbeat_at IS NULL OR heartbeat_at < now() - make_interval(secs => $4))
         RETURNING indexing_job.file_id, indexing_job.attempts, indexing_job.last_error)
       SELECT job.attempts, job.last_error AS "lastError", file.* FROM job JOIN file ON file.id = job.file_id`,
      [fileId, contentVersion, worker, staleAfterSeconds, lease],
    );
    return row && { file: row, lease, attempts: row.attempts, lastError: row.lastError };
  }

  /** Says that the holder of the lease is alive and how far it is. False when the job is no longer its: it must stop. */
  async beat(
    { fileId, contentVersion }: ContentVersion,
    lease: string,
    progress: { stage: Stage; passages?: number; passagesWritten?: number },
  ): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE indexing_job SET heartbeat_at = now(), stage = $4, passages = coalesce($5, passages),
         passages_written = coalesce($6, passages_written)
       FROM file
       WHERE indexing_job.file_id = $1 AND indexing_job.content_version = $2 AND lease = $3
         AND file.id = $1 AND file.content_version = $2 AND file.status = 'indexing_pending'
       RETURNING 1`,
      [fileId, contentVersion, lease, progress.stage, progress.passages ?? null, progress.passagesWritten ?? null],
    );
    return rows.length > 0;
  }

  /** Gives the job back, for whoever takes it next. Backpressure does not count as an attempt. */
  async release(
    { fileId, contentVersion }: ContentVersion,
    lease: string,
    error: string,
    counts: 'attempt' | 'pause',
  ): Promise<void> {
    await this.database.query(
      `UPDATE indexing_job SET heartbeat_at = NULL, taken_by = NULL, lease = NULL, stage = 'announced', last_error = $4,
         attempts = attempts - CASE WHEN $5 = 'pause' THEN 1 ELSE 0 END, announced_at = now(), announcements = 1
       WHERE file_id = $1 AND content_version = $2 AND lease = $3`,
      [fileId, contentVersion, lease, error.slice(0, 1000), counts],
    );
  }

  /** What a process of the same name had when it died. */
  async releaseAllOf(worker: string): Promise<void> {
    await this.database.query(
      `UPDATE indexing_job SET heartbeat_at = NULL, taken_by = NULL, lease = NULL, stage = 'announced',
         announced_at = '-infinity' WHERE taken_by = $1`,
      [worker],
    );
  }

  /** Ends the job. False when it is no longer the holder's: then it decides nothing, and the row stays for whom it belongs to. */
  async end(tx: Transaction, { fileId, contentVersion }: ContentVersion, lease: string): Promise<boolean> {
    const rows = await tx.query(
      'DELETE FROM indexing_job WHERE file_id = $1 AND content_version = $2 AND lease = $3 RETURNING 1',
      [fileId, contentVersion, lease],
    );
    return rows.length > 0;
  }

  /**
   * Jobs that have stopped moving: their worker is gone, or nobody took them for a while. They count as announced
   * from now on, so that the sweeper does not announce them again before somebody could take them.
   */
  async takeStalled(tx: Transaction): Promise<ContentVersion[]> {
    return tx.query<ContentVersion>(
      `UPDATE indexing_job SET announced_at = now(), taken_by = NULL, lease = NULL, heartbeat_at = NULL, stage = 'announced',
         announcements = CASE WHEN heartbeat_at IS NULL THEN announcements + 1 ELSE 1 END
       FROM file
       WHERE file.id = indexing_job.file_id AND file.content_version = indexing_job.content_version
         AND file.status = 'indexing_pending'
         AND (heartbeat_at < now() - make_interval(secs => $1)
           OR (heartbeat_at IS NULL
             AND announced_at < now() - make_interval(secs => $2 * 2 ^ least(announcements - 1, $3))))
       RETURNING indexing_job.bot_id AS "botId", indexing_job.file_id AS "fileId",
         indexing_job.content_version AS "contentVersion"`,
      [staleAfterSeconds, announceAgainAfterSeconds, maxDoublings],
    );
  }

  /** Jobs whose content is no longer its file's newest and whose worker is gone. */
  async deleteSuperseded(tx: Sql): Promise<FileRef[]> {
    return tx.query(
      `DELETE FROM indexing_job job
       WHERE (heartbeat_at IS NULL OR heartbeat_at < now() - make_interval(secs => $1))
         AND NOT EXISTS (SELECT 1 FROM file WHERE file.id = job.file_id AND file.content_version = job.content_version
           AND file.status = 'indexing_pending')
       RETURNING bot_id AS "botId", file_id AS "fileId"`,
      [staleAfterSeconds],
    );
  }

  /** Contents that wait or are worked on. */
  async count(): Promise<number> {
    const [row] = await this.database.query<{ count: string }>('SELECT count(*) FROM indexing_job');
    return Number(row?.count ?? 0);
  }
}
