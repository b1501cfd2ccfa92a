import { Inject, Injectable } from '@nestjs/common';
import type { CreateTableRows, Row } from '@parley/contracts/tables/rows';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { RowComputerService } from '../computed-columns/row-computer.service';
import { columnsToCompute, isSearchable } from '../schema/dirty-flags';
import { TableCache } from '../tables/table.cache';
import { computeRows, indexRows } from '../tables/table-queues';

@Injectable()
export class WrittenRowsService {
  constructor(
    private readonly tableCache: TableCache,
    private readonly computer: RowComputerService,
    private readonly queue: WorkQueue,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /**
   * Returns the rows, with computed columns if a request for a single row waits for them. All others are computed
   * later. Never throws: the rows are committed, and failed work is retried later.
   */
  async settle(botId: string, input: CreateTableRows, written: Row[]): Promise<Row[]> {
    try {
      return await this.computed(botId, input, written);
    } catch (error) {
      this.platform.logger.warn(
        { err: error, botId, table: input.table },
        'computing rows failed, they are computed later',
      );
      return written;
    }
  }

  private async computed(
    botId: string,
    { table: name, rows, waitComputed }: CreateTableRows,
    written: Row[],
  ): Promise<Row[]> {
    if (written.length === 0) return written;
    const table = await this.tableCache.cachedTable(botId, name);
    if ([...table.columns.values()].some(isSearchable)) this.queue.wake(indexRows.name);
    if (columnsToCompute(table).length === 0) return written;
    const isWaiting = waitComputed === true && rows.length === 1;
    const settled = isWaiting ? await Promise.all(written.map((row) => this.computer.computeRow(table, row))) : written;
    this.queue.wake(computeRows.name);
    return settled;
  }
}
