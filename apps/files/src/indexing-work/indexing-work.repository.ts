import { Injectable } from '@nestjs/common';
import type {
  FailedFile,
  IndexingStage,
  ListFailedFiles,
  ListStuckFiles,
  StuckFile,
} from '@parley/contracts/indexing-work';
import { type FileEntity, progressOf } from '../store/file.entity';
import type { IndexingJobEntity } from '../store/indexing-job.entity';
import { Database } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';

interface JobRow extends IndexingJobEntity {
  key: string;
  age_seconds: number;
}

type FailedRow = Pick<FileEntity, 'id' | 'bot_id' | 'key' | 'failed_status_reason' | 'updated_at'>;

export interface IndexingWorkMetrics {
  jobs: { stage: IndexingStage; count: number }[];
  oldestWaitingSeconds: number;
  mostAttempts: number;
  failedLastHour: number;
  uploads: number;
}

const oldestFirst = new Keyset<JobRow>(
  [
    { sql: 'job.created_at', type: 'timestamptz', of: (row) => row.created_at },
    { sql: 'job.file_id', type: 'text', of: (row) => row.file_id },
    { sql: 'job.content_version', type: 'text', of: (row) => row.content_version },
  ],
  'asc',
);
const newestFirst = new Keyset<FailedRow>([
  { sql: 'updated_at', type: 'timestamptz', of: (row) => row.updated_at },
  { sql: 'id', type: 'text', of: (row) => row.id },
]);
const defaultMinutes = 10;

/** Indexing queue for operators: the only queries over all bots at once. */
@Injectable()
export class IndexingWorkRepository {
  constructor(private readonly database: Database) {}

  /**
   * Jobs that are old, were retried, or were released with an error. Index indexing_job_created, then the primary key
   * of file.
   */
  async listStuckFiles(query: ListStuckFiles): Promise<{ files: StuckFile[]; nextToken?: string }> {
    const minutes = query.olderThanMinutes ?? defaultMinutes;
    const limit = pageSize(query);
    const values: unknown[] = [minutes];
    const rows = await this.database.query<JobRow>(
      `SELECT job.*, file.key, extract(epoch FROM now() - job.created_at)::int AS age_seconds
       FROM indexing_job job
       CROSS JOIN LATERAL (SELECT key FROM file WHERE id = job.file_id AND content_version = job.content_version
         AND status = 'indexing_pending' OFFSET 0) file
       WHERE (job.created_at <= now() - make_interval(mins => $1) OR job.attempts > 1 OR job.last_error IS NOT NULL)
         AND ${oldestFirst.after(query.nextToken, minutes, values)}
       ORDER BY ${oldestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    const page = oldestFirst.page(rows, limit, minutes);
    return { files: page.rows.map(toStuckFile), nextToken: page.nextToken };
  }

  /** Index file_failed. */
  async listFailedFiles(query: ListFailedFiles): Promise<{ files: FailedFile[]; nextToken?: string }> {
    const limit = pageSize(query);
    const values: unknown[] = [query.botId ?? null];
    const rows = await this.database.query<FailedRow>(
      `SELECT id, bot_id, key, failed_status_reason, updated_at FROM file
       WHERE status = 'indexing_failed' AND ($1::text IS NULL OR bot_id = $1)
         AND ${newestFirst.after(query.nextToken, query.botId, values)}
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    const page = newestFirst.page(rows, limit, query.botId);
    return { files: page.rows.map(toFailedFile), nextToken: page.nextToken };
  }

  /** Reads only small tables, and one end of the index file_failed. */
  async measureIndexingWork(): Promise<IndexingWorkMetrics> {
    const jobs = await this.database.query<{
      stage: IndexingStage;
      count: number;
      oldest_seconds: number;
      attempts: number;
    }>(
      `SELECT stage, count(*)::int AS count, extract(epoch FROM now() - min(created_at))::float AS oldest_seconds,
         max(attempts) AS attempts
       FROM indexing_job GROUP BY stage`,
    );
    const [others] = await this.database.query<{ failed: number; uploads: number }>(
      `SELECT (SELECT count(*)::int FROM file
               WHERE status = 'indexing_failed' AND updated_at > now() - interval '1 hour') AS failed,
              (SELECT count(*)::int FROM upload) AS uploads`,
    );
    return {
      jobs,
      oldestWaitingSeconds: jobs.find(({ stage }) => stage === 'announced')?.oldest_seconds ?? 0,
      mostAttempts: Math.max(0, ...jobs.map(({ attempts }) => attempts)),
      failedLastHour: others!.failed,
      uploads: others!.uploads,
    };
  }
}

function toStuckFile(row: JobRow): StuckFile {
  return {
    fileId: row.file_id,
    key: row.key,
    botId: row.bot_id,
    ...progressOf(row),
    ageSeconds: row.age_seconds,
  };
}

function toFailedFile(row: FailedRow): FailedFile {
  return {
    fileId: row.id,
    key: row.key,
    botId: row.bot_id,
    reason: row.failed_status_reason ?? '',
    failedAt: row.updated_at.toISOString(),
  };
}
