import { Inject, Injectable } from '@nestjs/common';
import type { CreateTableRows, Row } from '@parley/contracts/tables/rows';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ComputeService } from '../computed/compute.service';
import { columnsToCompute, isSearchable } from '../computed/marks';
import { RowIndexService } from '../search/row-index.service';
import { TableCatalog } from '../tables/table-catalog';

/** What follows once rows are committed. */
@Injectable()
export class WrittenRows {
  constructor(
    private readonly catalog: TableCatalog,
    private readonly compute: ComputeService,
    private readonly index: RowIndexService,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /**
   * The rows: a single one with its computed columns when the request waits for them. The others are computed later. Never
   * throws, since the rows are written: whatever fails is done later too.
   */
  async settle(botId: string, input: CreateTableRows, written: Row[]): Promise<Row[]> {
    try {
      return await this.computed(botId, input, written);
    } catch (error) {
      this.platform.logger.warn(
        { err: error, botId, table: input.table },
        'rows are computed later, since it failed now',
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
    const table = await this.catalog.remembered(botId, name);
    if ([...table.columns.values()].some(isSearchable)) this.index.wake();
    if (columnsToCompute(table).length === 0) return written;
    const isWaiting = waitComputed === true && rows.length === 1;
    const settled = isWaiting ? await Promise.all(written.map((row) => this.compute.computeNow(table, row))) : written;
    this.compute.wake();
    return settled;
  }
}
