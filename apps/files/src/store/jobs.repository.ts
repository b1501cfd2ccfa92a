import { Injectable } from '@nestjs/common';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import type { Condition } from '@parley/persistence/due-rows';
import { newUlid } from '@parley/persistence/ids';
import { lockNext } from '@parley/persistence/lock-next';
import type { IndexingStage } from '@parley/contracts/indexing-work';
import { currentTraceparent } from '@parley/tracing/tracing';
import type { FileEntity, FileRef } from './file.entity';
import type { JobSource } from './indexing-job.entity';
import type { ContentVersion } from './passages.repository';

/** Claimed job. A worker that lost it, even to another attempt of the same process, holds an old lease. */
export interface LeasedJob {
  version: ContentVersion;
  file: FileEntity;
  source: JobSource;
  /** Fencing token: a new one with each claim. */
  lease: string;
  /** Number of this attempt, from 1. */
  attempt: number;
  lastError: string | null;
  /** W3C trace context of the request that caused the job, if it was traced. */
  traceparent: string | null;
}

export type LeaseOfJob = Pick<LeasedJob, 'version' | 'lease'>;

export interface JobProgress {
  stage: IndexingStage;
  passages?: number;
  passagesWritten?: number;
  /** Fraction of the document that is done, from 0 to 1. */
  part?: number;
  /** Estimate for the rest of the stage; unknown when absent. */
  secondsLeft?: number;
}

export interface ClaimLimits {
  /** Bots whose jobs are skipped. */
  exceptBots?: string[];
  /** Only bots whose oldest due job is a small text. */
  areSmall?: boolean;
}

/** A lease ends this long after the last heartbeat. */
const leaseSeconds = 15;
/**
 * Pause before a job that nobody claimed is announced again; doubles each time, so that a long queue is not flooded with
 * events.
 */
const announceAgainAfterSeconds = 60;
const maxDoublings = 6;
const botsAtOnce = 10;
/** Files that are counted before another. */
const longestLine = 1000;

/** Without jobs, none can be stalled. */
export const hasJobs: Condition = { condition: 'EXISTS (SELECT FROM indexing_job)' };

/**
 * SQL condition on `job`: its content is still the version to index. Looked up job by job in the primary key: after
 * many uploads, statistics do not know how many files are to be indexed, and a join would compare each with all jobs.
 */
const isNewest = `coalesce((SELECT file.content_version = job.content_version AND file.status = 'indexing_pending'
  FROM file WHERE file.id = job.file_id), false)`;
/**
 * SQL condition on `job`: it waits, was announced, and its content is still the newest. A job whose pause is over is
 * claimed only after its announcement: otherwise it would use up the event of another job, which nobody would claim then.
 */
const isClaimable = `job.lease IS NULL AND job.announcements > 0 AND job.due_at <= now() AND ${isNewest}`;

/** Largest file in bytes that counts as small: about 30 windows of the bundled embedding model. */
const smallBytes = 16_384;
/** SQL condition on `job`: a small text, read and embedded in a short time and without a model server. */
const isSmall = `job.source = 'content' AND coalesce((SELECT file.size <= ${smallBytes} AND file.indexing - 'chunking' = '{}'
    AND lower(split_part(file.content_type, ';', 1)) IN ('text/plain', 'text/markdown', 'text/html', 'text/csv')
  FROM file WHERE file.id = job.file_id), false)`;

/** Job queue: one row for each content version that is being indexed, with its lease, progress and heartbeat. */
@Injectable()
export class JobsRepository {
  constructor(private readonly database: Database) {}

  async insertJob(tx: Sql, { botId, fileId, contentVersion }: ContentVersion, source: JobSource): Promise<void> {
    await tx.query(
      'INSERT INTO indexing_job (file_id, content_version, bot_id, source, traceparent) VALUES ($1, $2, $3, $4, $5)',
      [fileId, contentVersion, botId, source, currentTraceparent() ?? null],
    );
  }

  /**
   * Fair scheduling: claims the oldest due job of the bot whose last turn is longest ago, so that a bot with 10,000
   * waiting files delays no other bot. Undefined when none is due.
   */
  async claimNext(worker: string, { exceptBots = [], areSmall }: ClaimLimits = {}): Promise<LeasedJob | undefined> {
    const condition = areSmall ? isSmall : 'true';
    for (;;) {
      const bots = await this.listBotsInTurn(exceptBots, condition);
      for (const botId of bots) {
        const job = await this.claimNextOfBot(botId, worker, condition);
        if (job) return job;
      }
      if (bots.length < botsAtOnce) return undefined;
    }
  }

  /**
   * Bots with due jobs of which the oldest meets the condition. Loose index scan of indexing_job_waiting, however many jobs each bot has. The inner ORDER BY
   * keeps Postgres from searching a due job among all files.
   */
  private async listBotsInTurn(exceptBots: string[], condition: string): Promise<string[]> {
    const rows = await this.database.query<{ botId: string }>(
      `WITH RECURSIVE bot AS (
         (SELECT bot_id FROM indexing_job WHERE lease IS NULL ORDER BY bot_id LIMIT 1)
         UNION ALL
         SELECT (SELECT job.bot_id FROM indexing_job job WHERE lease IS NULL AND job.bot_id > bot.bot_id
           ORDER BY job.bot_id LIMIT 1)
         FROM bot WHERE bot.bot_id IS NOT NULL)
       SELECT bot.bot_id AS "botId" FROM bot LEFT JOIN indexing_turn turn USING (bot_id)
         CROSS JOIN LATERAL (SELECT job.file_id, job.source FROM indexing_job job
           WHERE job.bot_id = bot.bot_id AND ${isClaimable} ORDER BY job.created_at LIMIT 1) job
       WHERE bot.bot_id <> ALL ($2) AND ${condition}
       ORDER BY turn.taken_at NULLS FIRST LIMIT $1`,
      [botsAtOnce, exceptBots],
    );
    return rows.map(({ botId }) => botId);
  }

  async claimNextOfBot(botId: string, worker: string, condition = 'true'): Promise<LeasedJob | undefined> {
    const lease = newUlid();
    const [row] = await this.database.query<
      FileEntity & Omit<LeasedJob, 'version' | 'file' | 'lease'> & ContentVersion
    >(
      `WITH next AS MATERIALIZED (
         ${lockNext({
           table: 'indexing_job job',
           columns: 'job.file_id, job.content_version',
           where: `job.bot_id = $1 AND ${isClaimable} AND ${condition}`,
           orderBy: 'job.created_at',
           limit: 1,
         })}),
       job AS (
         UPDATE indexing_job SET stage = 'taken', attempts = attempts + 1, taken_by = $2, lease = $3, heartbeat_at = now(),
           passages = NULL, passages_written = 0, part = 0, seconds_left = NULL
         FROM next WHERE indexing_job.file_id = next.file_id AND indexing_job.content_version = next.content_version
         RETURNING indexing_job.*),
       turn AS (
         INSERT INTO indexing_turn (bot_id, taken_at) SELECT bot_id, clock_timestamp() FROM job
         ON CONFLICT (bot_id) DO UPDATE SET taken_at = EXCLUDED.taken_at)
       SELECT job.content_version AS "contentVersion", job.attempts AS attempt, job.last_error AS "lastError", job.source,
         job.traceparent, file.*
       FROM job JOIN file ON file.id = job.file_id`,
      [botId, worker, lease],
    );
    if (!row) return undefined;
    const { contentVersion, attempt, lastError, source, traceparent, ...file } = row;
    const version = { botId, fileId: file.id, contentVersion };
    return { version, file, source, lease, attempt, lastError, traceparent };
  }

  /** Place of a waiting file among those of its bot, from 1; at most 1,001. Index indexing_job_waiting. */
  async findPlaceInLine({ botId, fileId }: FileRef): Promise<number | undefined> {
    const [row] = await this.database.query<{ place: number }>(
      `SELECT 1 + (SELECT count(*)::int FROM (SELECT FROM indexing_job earlier
           WHERE earlier.bot_id = $1 AND earlier.lease IS NULL AND earlier.created_at < job.created_at
           LIMIT ${longestLine}) earlier) AS place
       FROM indexing_job job WHERE job.file_id = $2 AND job.lease IS NULL ORDER BY job.content_version DESC LIMIT 1`,
      [botId, fileId],
    );
    return row?.place;
  }

  /** Jobs of all bots that no worker has taken; at most `limit`. */
  async countWaiting(limit: number): Promise<number> {
    const [row] = await this.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM (SELECT FROM indexing_job WHERE lease IS NULL LIMIT $1) waiting',
      [limit],
    );
    return row!.count;
  }

  /** Heartbeat with progress. False when the lease is lost or the content superseded: the worker must stop. */
  async recordProgress({ version, lease }: LeaseOfJob, progress: JobProgress): Promise<boolean> {
    const { stage, passages = null, passagesWritten = null, part = null, secondsLeft = null } = progress;
    const rows = await this.database.query(
      `UPDATE indexing_job SET heartbeat_at = now(), stage = $4, passages = coalesce($5, passages),
         passages_written = coalesce($6, passages_written), part = greatest(part, $7), seconds_left = $8
       FROM file
       WHERE indexing_job.file_id = $1 AND indexing_job.content_version = $2 AND lease = $3
         AND file.id = $1 AND file.content_version = $2 AND file.status = 'indexing_pending'
       RETURNING 1`,
      [version.fileId, version.contentVersion, lease, stage, passages, passagesWritten, part, secondsLeft],
    );
    return rows.length > 0;
  }

  /** Like `recordProgress`, without a write. */
  async isLeaseHeld({ version, lease }: LeaseOfJob): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM indexing_job job JOIN file ON file.id = job.file_id AND file.content_version = job.content_version
       WHERE job.file_id = $1 AND job.content_version = $2 AND lease = $3 AND file.status = 'indexing_pending'`,
      [version.fileId, version.contentVersion, lease],
    );
    return rows.length > 0;
  }

  /** The job is announced again after the pause. */
  postponeJob(
    job: LeaseOfJob,
    { pauseMs, error, counts }: { pauseMs: number; error: string; counts: 'nothing' | 'attempt' },
  ): Promise<void> {
    return this.endLease(job, { error, pauseMs, attempts: counts === 'attempt' ? 0 : 1, announcements: 0 });
  }

  /** At a stop: the job goes back together with its event, which another process receives next. The attempt does not count. */
  giveBackJob(job: LeaseOfJob, error: string): Promise<void> {
    return this.endLease(job, { error, pauseMs: 0, attempts: 1, announcements: 1 });
  }

  /** `attempts` are subtracted, since they do not count. */
  private async endLease(
    { version: { fileId, contentVersion }, lease }: LeaseOfJob,
    back: { error: string; pauseMs: number; attempts: number; announcements: number },
  ): Promise<void> {
    const { error, pauseMs, attempts, announcements } = back;
    await this.database.query(
      `UPDATE indexing_job SET heartbeat_at = NULL, taken_by = NULL, lease = NULL, stage = 'announced', last_error = $4,
         attempts = attempts - $5, announcements = $6, announced_at = now(), due_at = now() + make_interval(secs => $7)
       WHERE file_id = $1 AND content_version = $2 AND lease = $3`,
      [fileId, contentVersion, lease, error.slice(0, 1000), attempts, announcements, pauseMs / 1000],
    );
  }

  /**
   * Attempts that are counted so far: fewer than when the job was claimed, if workers that lost it before have returned
   * theirs.
   */
  async countAttempts({ version, lease }: LeaseOfJob): Promise<number | undefined> {
    const [row] = await this.database.query<{ attempts: number }>(
      'SELECT attempts FROM indexing_job WHERE file_id = $1 AND content_version = $2 AND lease = $3',
      [version.fileId, version.contentVersion, lease],
    );
    return row?.attempts;
  }

  /** Attempt of a worker that lost the lease but lives: it was slow, which does not count. */
  async returnAttempt({ fileId, contentVersion }: ContentVersion): Promise<void> {
    await this.database.query(
      'UPDATE indexing_job SET attempts = greatest(attempts - 1, 0) WHERE file_id = $1 AND content_version = $2',
      [fileId, contentVersion],
    );
  }

  /** Ends the leases of a crashed process with the same name. Its attempts count. */
  async endLeasesOf(worker: string): Promise<void> {
    await this.database.query(
      `UPDATE indexing_job SET heartbeat_at = NULL, taken_by = NULL, lease = NULL, stage = 'announced',
         announced_at = '-infinity' WHERE taken_by = $1`,
      [worker],
    );
  }

  /** Deletes the job. False when the lease is lost: then the caller changes no outcome, and the row stays for its holder. */
  async finishJob(tx: Transaction, { version, lease }: LeaseOfJob): Promise<boolean> {
    const rows = await tx.query(
      'DELETE FROM indexing_job WHERE file_id = $1 AND content_version = $2 AND lease = $3 RETURNING 1',
      [version.fileId, version.contentVersion, lease],
    );
    return rows.length > 0;
  }

  /**
   * Jobs that nobody would claim: their lease has ended, their pause is over, or nobody claimed them for a while. Marks
   * them as announced, so that the sweeper does not announce them again before a worker could claim them.
   */
  async releaseStalledJobs(tx: Transaction): Promise<ContentVersion[]> {
    return tx.query<ContentVersion>(
      `UPDATE indexing_job job SET announced_at = now(), taken_by = NULL, lease = NULL, heartbeat_at = NULL,
         stage = 'announced', announcements = CASE WHEN heartbeat_at IS NULL THEN announcements + 1 ELSE 1 END
       WHERE (heartbeat_at < now() - make_interval(secs => $1)
           OR (heartbeat_at IS NULL AND due_at <= now() AND (announcements = 0
             OR announced_at < now() - make_interval(secs => $2 * 2 ^ least(announcements - 1, $3)))))
         AND ${isNewest}
       RETURNING bot_id AS "botId", file_id AS "fileId", content_version AS "contentVersion"`,
      [leaseSeconds, announceAgainAfterSeconds, maxDoublings],
    );
  }

  async deleteSuperseded(tx: Sql): Promise<FileRef[]> {
    return tx.query(
      `DELETE FROM indexing_job job
       WHERE (heartbeat_at IS NULL OR heartbeat_at < now() - make_interval(secs => $1))
         AND NOT ${isNewest}
       RETURNING bot_id AS "botId", file_id AS "fileId"`,
      [leaseSeconds],
    );
  }

  async deleteOldTurns(): Promise<void> {
    await this.database.query(`DELETE FROM indexing_turn WHERE taken_at < now() - interval '1 hour'`);
  }
}
