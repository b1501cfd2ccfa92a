import { IsInt, IsUUID, Length, Max, Min } from 'class-validator';
import { operator } from '../access';
import { Nested, Optional } from '../fields';
import { operation } from '../operation';

/** As the id of a row: greater than that of any that there can be. */
export const behindAllRows = 2_147_483_647;

/** A row of all tables, by the id of its table and its own. */
export class RowPlace {
  @Length(1, 100)
  tableId!: string;

  @IsInt()
  @Min(0)
  @Max(behindAllRows)
  rowId!: number;
}

export class ReindexRows {
  /** Of all bots when absent. */
  @Optional()
  @IsUUID()
  botId?: string;

  /** `next` of the answer before; from the first table on when absent. */
  @Optional()
  @Nested(RowPlace)
  after?: RowPlace;
}

export class ReindexedRows {
  /** Searchable tables that have come to their last row. */
  @IsInt()
  tables!: number;

  /** Rows that wait to be indexed again, and did not before. */
  @IsInt()
  rows!: number;

  /** Where to go on; absent once all rows were looked at. */
  @Optional()
  @Nested(RowPlace)
  next?: RowPlace;
}

/** For the `parley reindex` command. */
export const reindexRows = operation({
  subject: 'tables.reindex',
  route: 'POST /operator/tables/reindex',
  summary: 'Has some rows of searchable tables indexed again, whether or not the passage index has them.',
  access: operator,
  input: ReindexRows,
  output: ReindexedRows,
  timeoutMs: 60_000,
});
