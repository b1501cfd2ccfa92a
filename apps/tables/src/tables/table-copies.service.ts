import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import type { DuplicatedTable, DuplicateTable } from '@parley/contracts/tables/table-definition';
import { tables as operations } from '@parley/contracts/tables/tables';
import type { Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { JobsRepository } from '../jobs/jobs.repository';
import { columnsOf } from '../schema/columns';
import { RowBatchesRepository } from './row-batches.repository';
import { wakeAfterCommit } from './table-queues';
import { TableRowsRepository } from './table-rows.repository';
import { busy, isNameTaken, maxTables, maxTries, TableWriterService } from './table-writer.service';
import { type TableRow, toTable } from './table.entity';
import { TablesRepository } from './tables.repository';

/** Rows that a request copies itself; a job copies more. */
const maxCopiedRows = 5_000;
const maxNameLength = 50;

@Injectable()
export class TableCopiesService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly writer: TableWriterService,
    private readonly tables: TablesRepository,
    private readonly rows: TableRowsRepository,
    private readonly batches: RowBatchesRepository,
    private readonly jobs: JobsRepository,
    private readonly queue: WorkQueue,
  ) {}

  async duplicate(caller: BotCaller, input: DuplicateTable): Promise<DuplicatedTable> {
    for (let tries = 0; tries < maxTries; tries++) {
      try {
        return await this.writer.change(
          caller.bot.id,
          input.sourceTableId,
          (tx, source) => this.copy(tx, source, input),
          (work) => this.idempotency.run(caller, operations.duplicate, input, work),
        );
      } catch (error) {
        // Another request took the free name: retry.
        if (input.tableName !== undefined || !isNameTaken(error)) throw error;
      }
    }
    throw busy();
  }

  private async copy(tx: Transaction, source: TableRow, input: DuplicateTable): Promise<DuplicatedTable> {
    const { schemaOnly = false, factor = source.factor } = input;
    const { rows: count, lastRowId } = schemaOnly
      ? { rows: 0, lastRowId: 0 }
      : await this.rows.measureTable(tx, source);
    if (factor < source.factor && count > 0)
      throw new ApiError('InvalidPayload', `factor must be at least ${source.factor}, the factor of the source table.`);
    const name = input.tableName ?? (await this.freeName(tx, source));
    const copy = await this.writer.insert(tx, { ...source, name, factor, frozen: false });
    const job = count === 0 ? undefined : await this.copyRows(tx, source, copy, { count, lastRowId });
    return { table: toTable(copy), rows: count, ...(job ? { job: { id: job.id, status: job.status } } : {}) };
  }

  /** Copies in the same transaction, or by a job for many rows. */
  private async copyRows(
    tx: Transaction,
    source: TableRow,
    copy: TableRow,
    { count, lastRowId }: { count: number; lastRowId: number },
  ) {
    const columns = columnsOf(copy);
    const keys = [...columnsOf(source).values()].map(({ name, key }) => [key, columns.get(name)!.key]);
    const task = {
      sourceNumber: source.number,
      lastRowId,
      keys: Object.fromEntries(keys) as Record<string, string>,
    };
    if (count > maxCopiedRows) {
      return this.jobs.queueJob(tx, {
        botId: copy.bot_id,
        tableId: copy.id,
        task: { type: 'duplicate_table', ...task },
      });
    }
    await this.batches.copyRows(tx, { ...copy, columns }, task, 0, count);
    wakeAfterCommit(tx, this.queue, ['compute', 'index']);
    return undefined;
  }

  private async freeName(tx: Transaction, { bot_id, name }: TableRow): Promise<string> {
    const names = copyNames(name, maxTables + 1);
    const taken = new Set(await this.tables.listTakenNames(tx, bot_id, names));
    return names.find((candidate) => !taken.has(candidate))!;
  }
}

function copyNames(name: string, count: number): string[] {
  return Array.from({ length: count }, (_entry, index) => {
    const suffix = index === 0 ? '_copy' : `_copy${index + 1}`;
    return `${name.slice(0, maxNameLength - suffix.length)}${suffix}`;
  });
}
