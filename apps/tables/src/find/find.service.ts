import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { FindTableRows, FoundRows, GetTableRow, Row, RowReply } from '@parley/contracts/tables/rows';
import { isSearchable } from '../computed/marks';
import { toRow } from '../rows/row.entity';
import { type FoundRow, RowSearch } from '../search/row-search';
import { type KnownTable, TableCatalog } from '../tables/table-catalog';
import { readFilter } from './filter-reader';
import { FindRepository } from './find.repository';
import { Grouping } from './grouping';
import type { Question } from './page-sql';
import { readOrder } from './row-order';
import { Selection } from './selection';

const defaultLimit = 100;

@Injectable()
export class FindService {
  constructor(
    private readonly catalog: TableCatalog,
    private readonly rows: FindRepository,
    private readonly search: RowSearch,
  ) {}

  async get({ bot }: BotCaller, { table: name, id }: GetTableRow): Promise<RowReply> {
    const table = await this.catalog.current(bot.id, name);
    const row = await this.rows.find(table, id);
    if (!row) throw notFound('row', String(id));
    return { row: toRow(table.columns.values(), row) };
  }

  async find({ bot }: BotCaller, input: FindTableRows): Promise<FoundRows> {
    const table = await this.catalog.current(bot.id, input.table);
    const question = await this.readQuestion(table, input.filter);
    const { limit = defaultLimit, offset = 0, search, group } = input;
    if (search && group)
      throw new ApiError('InvalidPayload', 'search and group exclude each other: leave one of them out.');
    const { rows, warnings } = group
      ? await this.findGroups(table, question, input, { offset, limit: limit + 1 })
      : await this.findPage(table, question, input, { offset, limit: limit + 1 });
    return {
      rows: rows.slice(0, limit),
      hasMore: rows.length > limit,
      offset,
      limit,
      ...(warnings.length > 0 ? { warnings } : {}),
    };
  }

  /** What a filter means in this table. Throws InvalidPayload. */
  async readQuestion(table: KnownTable, conditions: Record<string, unknown> = {}): Promise<Question> {
    const filter = readFilter(conditions, table.columns);
    await this.rows.checkExpressions(filter);
    return {
      tableNumber: table.number,
      filter,
      keyOfKeyColumn: table.columns.get(table.key_column ?? '')?.key,
    };
  }

  private async findPage(
    { columns }: KnownTable,
    question: Question,
    { select, orderBy, orderDirection, search }: FindTableRows,
    page: Page,
  ): Promise<Found> {
    const selection = new Selection(columns, select);
    const order = readOrder(columns, orderBy, orderDirection);
    const dataOf = (values: unknown[]) => selection.dataOf(values);
    const whole = { ...question, ...page, order, dataOf };
    const isSearched = Boolean(search) && [...columns.values()].some(isSearchable);
    const rows: FoundRow[] = isSearched ? await this.search.page(whole, search!) : await this.rows.page(whole);
    const warnings = [...selection.warnings];
    if (search && !isSearched) warnings.push('search was left out: no column of the table is searchable.');
    if (isSearched && orderBy) warnings.push('orderBy was left out: with search, the nearest rows come first.');
    return {
      rows: rows.map((row) => ({
        ...selection.apply(toRow(columns.values(), row)),
        ...(row.similarity === undefined ? {} : { similarity: row.similarity }),
      })),
      warnings,
    };
  }

  /** Groups are numbered in the place of ids. */
  private async findGroups(
    { columns }: KnownTable,
    question: Question,
    { group = {}, select, orderBy, orderDirection }: FindTableRows,
    { offset, limit }: Page,
  ): Promise<Found> {
    const grouping = Grouping.read(columns, group, orderBy, orderDirection);
    const groups = await this.rows.groups(question, grouping, offset, limit);
    const rows = groups.map((row, index): Row => {
      return { ...grouping.toValues(row), id: offset + index + 1, computed: {} };
    });
    return { rows, warnings: select ? ['select was left out: with group, the answer has what group names.'] : [] };
  }
}

interface Page {
  offset: number;
  limit: number;
}

interface Found {
  rows: Row[];
  warnings: string[];
}
