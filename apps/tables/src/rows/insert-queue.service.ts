import { Injectable } from '@nestjs/common';
import { type ApiError, unavailable } from '@parley/contracts/errors';
import { maxRowsPerRequest } from '@parley/contracts/tables/rows';
import { Database } from '@parley/persistence/database';
import { isUnsettled } from '@parley/persistence/errors';
import type { CheckedRow } from '../schema/row-validator';
import type { CachedTable } from '../tables/table.cache';
import { type Inserted, RowsRepository } from './rows.repository';

type NewRow = Pick<CheckedRow, 'json' | 'sizeBytes'>;

interface Request {
  table: CachedTable;
  rows: NewRow[];
  sizeBytes: number;
  arrivedAt: number;
  resolve: (inserted: Inserted | undefined) => void;
  reject: (error: unknown) => void;
}

/** Concurrent statements per table: one commits while the next sends its rows. */
const statementsAtOnce = 2;

/** Bytes of JSON per combined statement. A larger request gets a statement of its own. */
const maxBytesTogether = 8_000_000;
/** Limit of waiting JSON over all tables, some seconds of work. The number of requests is limited by admission control. */
const maxWaitingBytes = 128_000_000;
/** Load shedding: after this wait the caller is about to time out, so its rows are rejected instead. */
const maxWaitMs = 8_000;

/**
 * Group commit: inserts into one table wait for each other's commit, so requests that arrive meanwhile share one
 * statement. Many small concurrent requests cost little more than one. Each request gets its own result.
 */
@Injectable()
export class InsertQueueService {
  private readonly waiting = new Map<string, Request[]>();
  private readonly running = new Map<string, number>();
  private waitingBytes = 0;

  constructor(
    private readonly database: Database,
    private readonly rows: RowsRepository,
  ) {}

  /** Same contract as `RowsRepository.insertRows`. */
  insert(table: CachedTable, rows: NewRow[]): Promise<Inserted | undefined> {
    const sizeBytes = rows.reduce((sum, row) => sum + row.sizeBytes, 0);
    if (this.waitingBytes > 0 && this.waitingBytes + sizeBytes > maxWaitingBytes) return Promise.reject(tooMany());
    return new Promise((resolve, reject) => {
      const requests = this.waiting.get(table.number) ?? [];
      requests.push({ table, rows, sizeBytes, arrivedAt: Date.now(), resolve, reject });
      this.waiting.set(table.number, requests);
      this.waitingBytes += sizeBytes;
      if ((this.running.get(table.number) ?? 0) < statementsAtOnce) void this.run(table.number);
    });
  }

  private async run(number: string): Promise<void> {
    this.running.set(number, (this.running.get(number) ?? 0) + 1);
    for (let batch = this.take(number); batch.length > 0; batch = this.take(number)) await this.store(batch);
    const others = this.running.get(number)! - 1;
    if (others > 0) this.running.set(number, others);
    else this.running.delete(number);
  }

  private take(number: string): Request[] {
    const requests = this.waiting.get(number) ?? [];
    while (requests[0] && Date.now() - requests[0].arrivedAt >= maxWaitMs) {
      const { sizeBytes, reject } = requests.shift()!;
      this.waitingBytes -= sizeBytes;
      reject(tooMany());
    }
    let count = 0;
    let bytes = 0;
    const end = requests.findIndex(({ table, rows, sizeBytes }) => {
      count += rows.length;
      bytes += sizeBytes;
      const isOther = table.version !== requests[0]!.table.version;
      return isOther || count > maxRowsPerRequest || bytes > maxBytesTogether;
    });
    const batch = requests.splice(0, end === -1 ? requests.length : Math.max(1, end));
    if (requests.length === 0) this.waiting.delete(number);
    this.waitingBytes -= batch.reduce((sum, request) => sum + request.sizeBytes, 0);
    return batch;
  }

  private async store(batch: Request[]): Promise<void> {
    try {
      const rows = batch.flatMap((request) => request.rows);
      const inserted = await this.rows.insertRows(this.database, batch[0]!.table, rows);
      let from = 0;
      for (const { rows: own, resolve } of batch) {
        resolve(inserted && { ...inserted, ids: inserted.ids.slice(from, from + own.length) });
        from += own.length;
      }
    } catch (error) {
      await this.storeApart(batch, error);
    }
  }

  /**
   * After a failed statement each request is tried alone, so that a bad one does not fail the others. Without an answer of the
   * database it fails all of them: it may have been committed.
   */
  private async storeApart(batch: Request[], error: unknown): Promise<void> {
    if (batch.length === 1 || isUnsettled(error)) batch.forEach(({ reject }) => reject(error));
    else for (const request of batch) await this.store([request]);
  }
}

function tooMany(): ApiError {
  return unavailable(
    'Too many rows are waiting to be inserted; those of this request were not inserted. Retry after 1 s.',
  );
}
