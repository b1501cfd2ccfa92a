import { Injectable } from '@nestjs/common';
import type { CreateTableRows, Row } from '@parley/contracts/tables/rows';
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
  ) {}

  /** The rows: a single one with its computed columns when the request waits for them. The others are computed later. */
  async settle(botId: string, { table: name, rows, waitComputed }: CreateTableRows, written: Row[]): Promise<Row[]> {
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
