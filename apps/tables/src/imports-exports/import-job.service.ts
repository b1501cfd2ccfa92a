import { Injectable } from '@nestjs/common';
import { rowBytesPerFactor } from '@parley/contracts/tables/table-definition';
import { charsetIn } from '@parley/documents/decode-text';
import { Database } from '@parley/persistence/database';
import type { JobLease } from '../jobs/job-lease';
import type { JobRow, TaskOf } from '../jobs/job.entity';
import { JobsRepository, maxErrors, type Outcome } from '../jobs/jobs.repository';
import { RowsRepository } from '../rows/rows.repository';
import { JobSlice } from '../rows/time-slice';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { BotFilesClient, type OpenFile } from './bot-files.client';
import { IgnoredColumns, isRead, type ReadRow, UnreadableFile } from './read-row';
import { readRows } from './row-file';
import { unpackedText, unpackingLimits } from './unpacked-text';

const maxRowsAtOnce = 1_000;
/** Memory limit of a batch: large rows are inserted in smaller batches. */
const maxBytesAtOnce = 8_000_000;
/** Limit of rows read per batch, valid and invalid. */
const maxReadAtOnce = 5_000;

interface Batch {
  rows: { location: string; json: string }[];
  errors: string[];
  failedRows: number;
  read: number;
}

/**
 * Imports a file with the same checks as createTableRows. Resumable: each batch commits together with its position in
 * the file. A worker that takes over reads the file again and skips the rows before that position.
 */
@Injectable()
export class ImportJobService {
  constructor(
    private readonly database: Database,
    private readonly tableCache: TableCache,
    private readonly rows: RowsRepository,
    private readonly files: BotFilesClient,
    private readonly jobs: JobsRepository,
  ) {}

  async run(job: JobRow<TaskOf<'import'>>, lease: JobLease): Promise<Outcome> {
    for (;;) {
      const table = await this.tableCache.current(job.bot_id, job.table_id);
      const ignored = new IgnoredColumns();
      if (await this.importInto(table, job, lease, ignored)) return { warnings: ignored.warnings };
      this.tableCache.forget(table);
    }
  }

  /** False when the table changed meanwhile: the remaining rows have to be read for its new columns. */
  private async importInto(
    table: CachedTable,
    job: JobRow<TaskOf<'import'>>,
    lease: JobLease,
    ignored: IgnoredColumns,
  ): Promise<boolean> {
    const file = await this.open(job, lease);
    const text = unpackedText(counted(file, lease), unpackingLimits, charsetIn(file.contentType));
    const rows = from(job.position, readRows(text, file.contentType, table.columns, ignored));
    for await (const batch of batchesOf(table, rows)) {
      if (!(await this.store(table, batch, job, lease))) return false;
    }
    return true;
  }

  /** Positions are row numbers in one version of the content, so a restart must find the same version. */
  private async open(job: JobRow<TaskOf<'import'>>, lease: JobLease): Promise<OpenFile> {
    const { task } = job;
    const file = await this.files.open(task.caller, task.fileId, lease.signal);
    if (task.contentVersion === undefined) {
      task.contentVersion = file.version;
      await lease.change((tx) => this.jobs.updateTask(tx, job.id, task));
    }
    if (task.contentVersion !== file.version) {
      await file.response.body?.cancel();
      throw new UnreadableFile(
        'The file was replaced during the import. Rows already imported from the previous content are kept; the job shows their number. Start another import for the new content.',
      );
    }
    return file;
  }

  private async store(table: CachedTable, batch: Batch, job: JobRow, lease: JobLease): Promise<boolean> {
    const step = { position: job.position + batch.read, rows: 0, failedRows: batch.failedRows, errors: batch.errors };
    const isStored = await this.database.transaction(async (tx) => {
      if (batch.rows.length > 0) {
        const inserted = await this.rows.insertRows(tx, table, batch.rows);
        if (!inserted) return false;
        const refused = batch.rows.filter((_row, index) => inserted.ids[index] === undefined);
        step.rows = batch.rows.length - refused.length;
        step.failedRows += refused.length;
        step.errors = [
          ...step.errors,
          ...refused.map(
            ({ location }) => `${location}: another row has the same ${table.key_column}, which must be unique.`,
          ),
        ].slice(0, maxErrors);
      }
      await lease.advance(tx, step);
      return true;
    });
    if (isStored) job.position = step.position;
    return isStored;
  }
}

async function* from(position: number, rows: AsyncIterable<ReadRow>): AsyncIterable<ReadRow> {
  let passed = 0;
  for await (const row of rows) {
    passed += 1;
    if (passed > position) yield row;
  }
}

async function* batchesOf(table: CachedTable, rows: AsyncIterable<ReadRow>): AsyncIterable<Batch> {
  const maxRows = Math.min(maxRowsAtOnce, Math.floor(maxBytesAtOnce / (table.factor * rowBytesPerFactor)));
  const slice = new JobSlice();
  let batch = emptyBatch();
  for await (const row of rows) {
    batch.read += 1;
    check(table, row, batch);
    if (slice.isOver) await slice.rest();
    if (batch.rows.length < maxRows && batch.read < maxReadAtOnce) continue;
    yield batch;
    batch = emptyBatch();
  }
  if (batch.read > 0) yield batch;
}

function emptyBatch(): Batch {
  return { rows: [], errors: [], failedRows: 0, read: 0 };
}

function check(table: CachedTable, row: ReadRow, batch: Batch): void {
  const checked = isRead(row) ? table.validator.checkNew(row.row) : row.problem;
  if (typeof checked !== 'string') batch.rows.push({ location: row.location, json: checked.json });
  else {
    batch.failedRows += 1;
    if (batch.errors.length < maxErrors) batch.errors.push(`${row.location}: ${checked.replace(/\.?$/, '.')}`);
  }
}

async function* counted({ response, sizeBytes }: OpenFile, lease: JobLease): AsyncIterable<Uint8Array> {
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    lease.signal.throwIfAborted();
    bytes += chunk.length;
    lease.progress = Math.max(lease.progress, Math.min(99, Math.floor((100 * bytes) / sizeBytes)));
    yield chunk;
  }
}
