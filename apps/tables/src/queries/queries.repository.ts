import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type { ColumnReading } from '@parley/persistence/column-parsers';
import { Database } from '@parley/persistence/database';
import { isStopped } from '@parley/persistence/errors';
import { toText } from '@parley/persistence/storable';
import { TablesConfig } from '../config';
import type { StoredRow } from '../tables/row.entity';
import { tableIsCurrent, type TableRow } from '../tables/table.entity';
import { ofCompiling, ofMatching, matchOperator } from './filter-sql';
import { expressionsOf, type Filter } from './filter';
import type { Grouping, GroupRow } from './grouping';
import {
  isSmall,
  type Measured,
  measured,
  pageName,
  type PageQuery,
  type PageRow,
  pageStatement,
  pageWithoutIds,
  type RowQuery,
  rowsOf,
  rowsOfIds,
} from './page-sql';

/** Time limit for compiling all regular expressions of a filter. One takes milliseconds. */
const maxCompilingMs = 1_000;

@Injectable()
export class QueriesRepository {
  constructor(
    private readonly database: Database,
    private readonly config: TablesConfig,
  ) {}

  /** A row proves that the table is current. Index: the primary key. */
  async findById(table: Pick<TableRow, 'number' | 'version'>, id: number): Promise<StoredRow | undefined> {
    const values: unknown[] = [table.number, id];
    const [row] = await this.database.query<StoredRow>(
      `SELECT id, created_at, updated_at, data, computed, stale FROM row
       WHERE table_number = $1 AND id = $2 AND ${tableIsCurrent(table, values)}`,
      values,
      'row-by-id',
    );
    return row;
  }

  /** One statement; `pageStatement` describes its indexes. Throws OperationTimeout. */
  async listPage(query: PageQuery): Promise<PageRow[]> {
    const values: unknown[] = [];
    const statement = pageStatement(query, values);
    return isSmall(query)
      ? this.database.query(statement, values, pageName(query), 'texts')
      : this.read(query, statement, values, { reading: 'texts' });
  }

  /** A page of groups. Reads every row that matches the filter. Throws OperationTimeout. */
  async listGroups(
    query: RowQuery,
    grouping: Grouping,
    offset: number,
    limit: number,
  ): Promise<(GroupRow & Measured)[]> {
    const values: unknown[] = [];
    const groups = grouping.statement(rowsOf(query, values), values);
    const page = `${groups} OFFSET $${values.push(offset)}::bigint LIMIT $${values.push(limit)}::bigint`;
    return this.read(query, measured(page, 'outputs'), values);
  }

  /** Filters the ids: returns those of matching rows. Throws OperationTimeout. */
  async listMatchingAmong(query: RowQuery, ids: number[]): Promise<number[]> {
    const values: unknown[] = [];
    const [found] = await this.read<{ ids: number[] }>(
      query,
      `SELECT ARRAY(SELECT row.id FROM ${rowsOf(query, values)} AND row.id = ANY ($${values.push(ids)}::int[])) AS ids`,
      values,
    );
    return found!.ids;
  }

  /** Current rows of these ids, in the order of `ids`. Index: the primary key. */
  listByIds(query: PageQuery, ids: number[]): Promise<PageRow[]> {
    const values: unknown[] = [];
    return this.database.query<PageRow>(rowsOfIds(query, ids, values), values, undefined, 'texts');
  }

  /** A page of the matching rows except these, by id. Throws OperationTimeout. */
  listPageWithout(query: PageQuery, ids: number[]): Promise<PageRow[]> {
    const values: unknown[] = [];
    return this.read<PageRow>(query, pageWithoutIds(query, ids, values), values, { reading: 'texts' });
  }

  /** Ids of up to `limit` matching rows, in no defined order. Throws OperationTimeout. */
  async listMatchingIds(query: RowQuery, limit: number, timeoutMs: number): Promise<number[]> {
    const values: unknown[] = [];
    const rows = rowsOf(query, values);
    const [found] = await this.read<{ ids: number[] }>(
      query,
      `SELECT ARRAY(SELECT row.id FROM ${rows} LIMIT $${values.push(limit)}::bigint) AS ids`,
      values,
      { mostMs: timeoutMs },
    );
    return found!.ids;
  }

  /** Throws InvalidPayload for a regular expression that Postgres rejects or cannot compile in time. */
  async checkExpressions(filter: Filter): Promise<void> {
    const deadline = Date.now() + maxCompilingMs;
    for (const expression of expressionsOf(filter)) {
      const leftMs = Math.max(1, deadline - Date.now());
      const statement = `SELECT '' ${matchOperator(expression)} $1`;
      await this.database.readWithin(leftMs, statement, [toText(expression.pattern)]).catch((error: unknown) => {
        throw ofCompiling(expression, error);
      });
    }
  }

  private async read<Row>(
    { filter }: RowQuery,
    statement: string,
    values: unknown[],
    { mostMs = Infinity, reading }: { mostMs?: number; reading?: ColumnReading } = {},
  ): Promise<Row[]> {
    const timeoutMs = Math.min(mostMs, this.config.findTimeoutMs);
    return this.database.readWithin<Row>(timeoutMs, statement, values, reading).catch((error: unknown) => {
      if (!isStopped(error)) throw ofMatching(filter, error);
      throw new ApiError(
        'OperationTimeout',
        `Finding these rows took more than ${timeoutMs / 1000} s. Narrow the filter: equality with a rare value, ` +
          'the key column and the order by id are fast.',
        { cause: error },
      );
    });
  }
}
