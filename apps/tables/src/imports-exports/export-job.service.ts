import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { openSpoolFile } from '@parley/blobs/spool-file';
import { Database } from '@parley/persistence/database';
import { JobFailed, type JobLease } from '../jobs/job-lease';
import type { JobRow, TaskOf } from '../jobs/job.entity';
import { JobsRepository, type Outcome } from '../jobs/jobs.repository';
import { JobSlice } from '../rows/time-slice';
import { RowBatchesRepository } from '../tables/row-batches.repository';
import { toRow } from '../tables/row.entity';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { BotFilesClient } from './bot-files.client';
import { contentTypes, type WrittenRow, writtenRows } from './written-rows';

const rowsAtOnce = 1_000;
/** Rows that become text in one turn of the event loop. */
const rowsInTurn = 50;
const chunkBytes = 65_536;

/**
 * Exports a table to a file of the bot. No snapshot: each row is exported as it is when it is read. A worker that takes
 * over starts again and writes the same file.
 */
@Injectable()
export class ExportJobService {
  constructor(
    private readonly database: Database,
    private readonly tableCache: TableCache,
    private readonly rows: RowBatchesRepository,
    private readonly files: BotFilesClient,
    private readonly jobs: JobsRepository,
  ) {}

  async run(job: JobRow<TaskOf<'export'>>, lease: JobLease): Promise<Outcome> {
    const { caller, format, compress } = job.task;
    const table = await this.tableCache.current(job.bot_id, job.table_id);
    const columns = ['id', ...table.columns.keys(), 'createdAt', 'updatedAt'];
    const file = await TemporaryFile.open();
    try {
      const counter = { rows: 0 };
      const text = Readable.from(writtenRows(format, columns, this.batches(table, lease, counter)));
      const write = (chunks: AsyncIterable<Uint8Array | string>) => file.write(chunks);
      const { signal } = lease;
      await (compress ? pipeline(text, createGzip(), write, { signal }) : pipeline(text, write, { signal }));
      // The rows of a deleted table are erased soon, so the export may be incomplete.
      if ((await this.rows.findLastRowId(table.number)) === undefined) {
        throw new JobFailed('The table was emptied or deleted before all of its rows were exported.');
      }
      await this.database.transaction((tx) =>
        lease.advance(tx, { position: 0, rows: counter.rows - job.rows, failedRows: 0, errors: [] }),
      );
      await lease.change((tx) => this.jobs.markFinalizing(tx, job.id));
      const key = `exports/${table.name}-${job.id}.${format}${compress ? '.gz' : ''}`;
      const contentType = compress ? 'application/gzip' : contentTypes[format];
      const outputFileId = await this.files.write(
        caller,
        { key, contentType, sizeBytes: file.sizeBytes },
        file.content(),
        signal,
      );
      return { outputFileId };
    } finally {
      await file.close();
    }
  }

  private async *batches(table: CachedTable, lease: JobLease, counter: { rows: number }): AsyncIterable<WrittenRow[]> {
    const columns = [...table.columns.values()];
    const slice = new JobSlice();
    const lastId = (await this.rows.findLastRowId(table.number)) ?? 0;
    for (let afterId = 0; afterId < lastId;) {
      const rows = await this.rows.listAfterId(table.number, afterId, rowsAtOnce);
      if (rows.length === 0) return;
      for (let first = 0; first < rows.length; first += rowsInTurn) {
        yield rows.slice(first, first + rowsInTurn).map((row) => toRow(columns, row));
        if (slice.isOver) await slice.rest();
      }
      counter.rows += rows.length;
      afterId = rows.at(-1)!.id;
      await lease.report(Math.min(95, Math.floor((100 * afterId) / lastId)));
    }
  }
}

/** Temporary file that is written once and then read, possibly several times. */
class TemporaryFile {
  sizeBytes = 0;

  private constructor(private readonly file: FileHandle) {}

  static async open(): Promise<TemporaryFile> {
    return new TemporaryFile(await openSpoolFile());
  }

  async write(chunks: AsyncIterable<Uint8Array | string>): Promise<void> {
    for await (const chunk of chunks) {
      const bytes = Buffer.from(chunk as Uint8Array);
      await this.file.writeFile(bytes);
      this.sizeBytes += bytes.length;
    }
  }

  async *content(): AsyncIterable<Uint8Array> {
    for (let position = 0; position < this.sizeBytes;) {
      const { buffer, bytesRead } = await this.file.read({ buffer: Buffer.allocUnsafe(chunkBytes), position });
      yield buffer.subarray(0, bytesRead);
      position += bytesRead;
    }
  }

  close(): Promise<void> {
    return this.file.close();
  }
}
