import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { FindTableRows, FoundRows, GetTableRow, Row, RowReply } from '@parley/contracts/tables/rows';
import { rowBytesPerFactor } from '@parley/contracts/tables/table-definition';
import { JsonText } from '@parley/transport/message';
import { keyColumnOf } from '../schema/columns';
import { isSearchable } from '../schema/dirty-flags';
import { toRow } from '../tables/row.entity';
import { parsed } from '../tables/row-writer';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { readFilter } from './filter-reader';
import { Grouping } from './grouping';
import { isSmall, maxPageBytes, type Measured, type RowQuery } from './page-sql';
import { Projection } from './projection';
import { QueriesRepository } from './queries.repository';
import { readOrder } from './row-order';
import { type FoundRow, RowSearchService } from './row-search.service';

const defaultLimit = 100;

@Injectable()
export class QueriesService {
  constructor(
    private readonly tableCache: TableCache,
    private readonly rows: QueriesRepository,
    private readonly search: RowSearchService,
  ) {}

  get({ bot }: BotCaller, { table: name, id }: GetTableRow): Promise<RowReply> {
    return this.tableCache.read(bot.id, name, async (table, prove) => {
      const row = await this.rows.findById(table, id);
      if (!row) throw notFound('row', String(id));
      prove();
      return { row: toRow(table.columns.values(), row) };
    });
  }

  find({ bot }: BotCaller, input: FindTableRows): Promise<FoundRows | JsonText<FoundRows>> {
    if (input.search && input.group)
      throw new ApiError('InvalidPayload', 'search and group cannot be combined: omit one of them.');
    return this.tableCache.read(bot.id, input.table, (table, prove) => this.findIn(table, input, prove));
  }

  async readQuery(table: CachedTable, conditions: Record<string, unknown> = {}): Promise<RowQuery> {
    const filter = readFilter(conditions, table.columns);
    await this.rows.checkExpressions(filter);
    return {
      table,
      filter,
      keyOfKeyColumn: keyColumnOf(table)?.key,
    };
  }

  private async findIn(
    table: CachedTable,
    input: FindTableRows,
    prove: () => void,
  ): Promise<FoundRows | JsonText<FoundRows>> {
    const query = await this.readQuery(table, input.filter);
    const { limit = defaultLimit, offset = 0, group } = input;
    const { rows, hasMore, warnings } = group
      ? await this.findGroups(table, query, input, { offset, limit })
      : await this.findPage(table, query, input, { offset, limit }, prove);
    const about = { hasMore, offset, limit, ...(warnings.length > 0 ? { warnings } : {}) };
    if (!(rows instanceof JsonText)) return { rows, ...about };
    return new JsonText(`{"rows":${rows.text},${JSON.stringify(about).slice(1)}`);
  }

  private async findPage(
    { columns, factor, writer }: CachedTable,
    query: RowQuery,
    { select, orderBy, orderDirection, search }: FindTableRows,
    { offset, limit }: Page,
    prove: () => void,
  ): Promise<Found> {
    const projection = new Projection(columns, select);
    const order = readOrder(columns, orderBy, orderDirection);
    const dataOf = select && ((values: unknown[]) => projection.dataOf(values));
    const maxRowBytes = factor * rowBytesPerFactor;
    const whole = { offset, limit: limit + 1, order, dataOf, maxRowBytes, ...query };
    const isSearched = Boolean(search) && [...columns.values()].some(isSearchable);
    const found: FoundRow[] = isSearched ? await this.search.page(whole, search!) : await this.rows.listPage(whole);
    if (found.length > 0 && !isSearched && isSmall(whole)) prove();
    const { rows, hasMore, cuts } = cutPage(found, { offset, limit });
    const warnings = [...projection.warnings, ...cuts];
    if (search && !isSearched) warnings.push('search was ignored: no column of the table is searchable.');
    if (isSearched && orderBy) warnings.push('orderBy was ignored: with search, rows are ordered by similarity.');
    if (!select && !isSearched) return { rows: new JsonText(writer.writeAll(rows)), hasMore, warnings };
    return {
      rows: rows.map((found) => {
        const row = projection.apply(toRow(columns.values(), parsed(found)));
        if (found.similarity !== undefined) row.similarity = found.similarity;
        return row;
      }),
      hasMore,
      warnings,
    };
  }

  /** Groups have their position as id. */
  private async findGroups(
    { columns }: CachedTable,
    query: RowQuery,
    { group = {}, select, orderBy, orderDirection }: FindTableRows,
    { offset, limit }: Page,
  ): Promise<Found> {
    const grouping = Grouping.read(columns, group, orderBy, orderDirection);
    const found = await this.rows.listGroups(query, grouping, offset, limit + 1);
    const { rows: groups, hasMore, cuts } = cutPage(found, { offset, limit });
    const rows = groups.map((row, index): Row => {
      return { ...grouping.toValues(row), id: offset + index + 1, computed: {} };
    });
    const warnings = grouping
      .tooLargeIn(groups)
      .map((name) => `${name} is null where its value exceeds the range of a number.`);
    if (select) warnings.push('select was ignored: with group, the answer has the columns that group names.');
    return { rows, hasMore, warnings: [...warnings, ...cuts] };
  }
}

/**
 * Cuts a page at `limit`, or earlier at `maxPageBytes`. `found` has one row more than `limit` when there is a next
 * page.
 */
function cutPage<Row extends Measured>(found: Row[], { offset, limit }: Page) {
  const beyond = found.findIndex((row) => row.is_beyond);
  const isCut = beyond !== -1 && beyond < limit;
  const rows = found.slice(0, isCut ? beyond : limit);
  const largest = `${maxPageBytes / 1_000_000} MB`;
  return {
    rows,
    hasMore: found.length > rows.length,
    cuts: isCut ? [`The page ends before limit, at ${largest}: request the rest with offset ${offset + beyond}.`] : [],
  };
}

interface Page {
  offset: number;
  limit: number;
}

interface Found {
  rows: Row[] | JsonText<Row[]>;
  hasMore: boolean;
  warnings: string[];
}
