import { knownLimit } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import type { TextRow } from '../tables/row.entity';
import { tableIsCurrent, type TableRow } from '../tables/table.entity';
import { expressionsOf, type Filter } from './filter';
import { conditionOf, isIndexed } from './filter-sql';
import { type Direction, orderTerms, type RowOrder } from './row-order';

/** Pages that end later are read without a walk in the order of ids. */
const maxWalkedEnd = 2000;

/** Rows of the first walk, unless twice the page is more, and limit for the second one. */
const walkedRows = 1000;
const maxWalkedRows = 20_000;

/** Cost of a row found by the index over `data`, in rows of a walk: measured with a million rows. */
const foundRowCost = 3;

export const maxPageBytes = 16_000_000;

export interface RowQuery {
  table: Pick<TableRow, 'number' | 'version'>;
  filter: Filter;
  keyOfKeyColumn?: string;
}

export interface PageQuery extends RowQuery {
  order: RowOrder;
  offset: number;
  limit: number;
  /** Selected part of the data; all of it by default. */
  dataOf?: (values: unknown[]) => string;
  maxRowBytes: number;
}

/** Row of a page with a size limit. Rows beyond `maxPageBytes` have no data. */
export interface Measured {
  is_beyond?: boolean;
}

export type PageRow = TextRow & Measured;

/**
 * Statement for a page of `PageRow`; appends its parameters to `values`. Indexes: row_key for the key column, row_data
 * for equality, the primary key otherwise.
 */
export function pageStatement(query: PageQuery, values: unknown[]): string {
  const { order, filter, offset, limit } = query;
  const end = offset + limit;
  const isWalked = order.column.kind === 'id' && isIndexed(filter) && !isPinned(query) && end <= maxWalkedEnd;
  return bounded(query, isWalked ? walkedPage(query, order.direction, values) : plainPage(query, values));
}

/**
 * Whether the query is cheap for certain and needs no timeout. Its rows also prove that the table is current. One regular
 * expression can be expensive on a single row.
 */
export function isSmall(query: PageQuery): boolean {
  const { filter, order, offset } = query;
  if (expressionsOf(filter).length > 0) return false;
  return isPinned(query) || (requiredBy(filter).length === 0 && order.column.kind === 'id' && offset <= maxWalkedEnd);
}

/** Name for the prepared statement of the most frequent pages: all rows and all columns, in the order of ids. */
export function pageName(query: PageQuery): string | undefined {
  const { order, offset, limit } = query;
  if (requiredBy(query.filter).length > 0 || order.column.kind !== 'id' || query.dataOf) return undefined;
  const place = offset === 0 ? `first-${knownLimit(limit)}` : 'later';
  return `page-${place}-${order.direction}-${isBounded(query) ? 'measured' : 'whole'}`;
}

/** FROM clause for all matching rows; appends its parameters to `values`. */
export function rowsOf(query: RowQuery, values: unknown[]): string {
  return `row WHERE ${whereOf(query, values)}`;
}

export function rowsOfIds(query: PageQuery, ids: number[], values: unknown[]): string {
  const columns = columnsOf(query, values);
  const number = `$${values.push(query.table.number)}::bigint`;
  const list = `$${values.push(ids)}::int[]`;
  return bounded(
    query,
    `SELECT ${columns} FROM row WHERE table_number = ${number} AND id = ANY (${list}) ORDER BY array_position(${list}, id)`,
  );
}

export function pageWithoutIds(query: PageQuery, ids: number[], values: unknown[]): string {
  const columns = columnsOf(query, values);
  const rows = `${rowsOf(query, values)} AND row.id <> ALL ($${values.push(ids)}::int[])`;
  return bounded(query, `SELECT ${columns} FROM ${rows} ORDER BY row.id ${pageOf(query, values)}`);
}

/** Adds `is_beyond`: the running size of `column`, a `jsonb`, in the order of the page, exceeds `maxPageBytes`. */
export function measured(page: string, column: string, others: string[] = []): string {
  return `
    SELECT ${[...others, `CASE WHEN is_beyond THEN '{}' ELSE ${column} END AS ${column}`, 'is_beyond'].join(', ')}
    FROM (
      SELECT *, sum(octet_length(${column}::text)) OVER (ROWS UNBOUNDED PRECEDING) > ${maxPageBytes} AS is_beyond
      FROM (${page}) AS page) AS measured`;
}

/** Measures rows only where a page of the largest rows would exceed the limit. */
function bounded(query: PageQuery, page: string): string {
  if (!isBounded(query)) return page;
  return measured(page, 'data', ['id', 'created_at', 'updated_at', 'computed', 'stale']);
}

function isBounded({ limit, maxRowBytes }: Pick<PageQuery, 'limit' | 'maxRowBytes'>): boolean {
  return limit * maxRowBytes > maxPageBytes;
}

function plainPage(query: PageQuery, values: unknown[]): string {
  const columns = columnsOf(query, values);
  const rows = rowsOf(query, values) + (isSmall(query) ? ` AND ${tableIsCurrent(query.table, values)}` : '');
  const ordered = `SELECT ${columns} FROM ${rows} ORDER BY ${orderTerms(query.order, values)}`;
  if (query.offset > 0 || !pageName(query)) return `${ordered} ${pageOf(query, values)}`;
  const known = `SELECT * FROM (${ordered} LIMIT ${knownLimit(query.limit)}) AS row`;
  return `${known} ORDER BY row.id ${query.order.direction} LIMIT $${values.push(query.limit)}::bigint`;
}

/**
 * Page of an equality filter in the order of ids. For frequent values a walk in this order fills the page quickly,
 * while the index over `data` returns far too many rows; for rare values it is the opposite, and the planner cannot
 * tell them apart. So a short walk comes first. If it does not fill the page, its share of matches decides whether a
 * longer walk is cheaper than the index. The index completes any page that the walks do not fill.
 */
function walkedPage(query: PageQuery, direction: Direction, values: unknown[]): string {
  const { offset, limit, filter } = query;
  const columns = columnsOf(query, values);
  const number = `$${values.push(query.table.number)}::bigint`;
  const condition = conditionOf(filter, values);
  const end = `$${values.push(offset + limit)}::bigint`;
  const first = Math.max(walkedRows, 2 * (offset + limit));
  const byId = `ORDER BY row.id ${direction}`;
  const walk = (rows: number, only: string) => `
    SELECT ${columns} FROM (SELECT * FROM row WHERE table_number = ${number} ${only} ${byId} LIMIT ${rows}) AS row
    WHERE ${condition} LIMIT ${end}`;
  return `
    WITH near AS MATERIALIZED (${walk(first, '')}),
    seen AS MATERIALIZED (
      SELECT found = ${end} AS is_filled,
        found BETWEEN 1 AND ${end} - 1
          AND rows_to_walk < ${maxWalkedRows / 1.5} AND rows_to_walk < ${foundRowCost} * rows_to_find AS is_worth_a_walk
      FROM (SELECT count(*) AS found FROM near) AS near,
        (SELECT next_row_id AS rows FROM table_state WHERE number = ${number}) AS state,
        LATERAL (SELECT ${end} * ${first} / greatest(found, 1)::float8 AS rows_to_walk,
          rows * found / ${first}::float8 AS rows_to_find) AS costs),
    far AS MATERIALIZED (${walk(maxWalkedRows, 'AND (SELECT is_worth_a_walk FROM seen)')}),
    indexed AS MATERIALIZED (
      SELECT row.id FROM row
      WHERE table_number = ${number} AND ${condition}
        AND NOT (SELECT is_filled FROM seen) AND (SELECT count(*) FROM far) < ${end})
    SELECT * FROM near AS row WHERE (SELECT is_filled FROM seen)
    UNION ALL SELECT * FROM far AS row WHERE (SELECT count(*) FROM far) = ${end}
    UNION ALL SELECT ${columns}
      FROM (SELECT id FROM indexed AS row ${byId} LIMIT ${end}) AS page
      JOIN row ON row.table_number = ${number} AND row.id = page.id
    ORDER BY id ${direction} ${pageOf(query, values)}`;
}

function columnsOf({ dataOf }: PageQuery, values: unknown[]): string {
  const data = dataOf ? dataOf(values) : 'row.data';
  return `row.id, row.created_at, row.updated_at, ${data} AS data, row.computed, row.stale`;
}

function pageOf({ offset, limit }: PageQuery, values: unknown[]): string {
  return `OFFSET $${values.push(offset)}::bigint LIMIT $${values.push(limit)}::bigint`;
}

function whereOf(query: RowQuery, values: unknown[]): string {
  const table = `row.table_number = $${values.push(query.table.number)}::bigint`;
  // The index over keys is exact, while the planner can only guess how many rows the index over `data` returns.
  const keys = keysOf(query).map(
    (choices) =>
      `row.key = ANY(ARRAY(SELECT row_key(value) FROM jsonb_array_elements($${values.push(toJsonb(choices))}::jsonb)))`,
  );
  return [table, ...keys, conditionOf(query.filter, values)].join(' AND ');
}

function isPinned(query: RowQuery): boolean {
  return (
    keysOf(query).length > 0 ||
    requiredBy(query.filter).some((filter) => isEquality(filter) && filter.column.kind === 'id')
  );
}

/** Required values of the key column, one list for each condition on it that every match must meet. */
function keysOf({ filter, keyOfKeyColumn }: RowQuery): unknown[][] {
  return requiredBy(filter)
    .filter(isEquality)
    .filter(({ column }) => column.kind === 'data' && column.path.length === 0 && column.key === keyOfKeyColumn)
    .map((equality) => (equality.kind === 'equals' ? [equality.value] : equality.values));
}

function requiredBy(filter: Filter): Filter[] {
  return filter.kind === 'all' ? filter.of.flatMap(requiredBy) : [filter];
}

function isEquality(filter: Filter): filter is Extract<Filter, { kind: 'equals' | 'one of' }> {
  return filter.kind === 'equals' || filter.kind === 'one of';
}
