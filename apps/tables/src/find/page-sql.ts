import { toJsonb } from '@parley/database/storable';
import type { StoredRow } from '../rows/row.entity';
import { expressionsOf, type Filter } from './filter';
import { conditionOf, isIndexed } from './filter-sql';
import { type Direction, orderTerms, type RowOrder } from './row-order';

/** Up to here a page may end for its first rows to be looked for by walking. */
const maxWalkedEnd = 2000;

/** Rows that the first walk looks at, if twice the page is not more, and the longest second one. */
const walkedRows = 1000;
const maxWalkedRows = 20_000;

/** What a row found by the index over `data` costs, in rows that are walked past: measured at a million rows. */
const foundRowCost = 3;

/** Bytes of data in one page. */
export const maxPageBytes = 16_000_000;

/** The rows of a table that a filter means. */
export interface Question {
  tableNumber: string;
  filter: Filter;
  /** Of the column whose values are unique, if there is one. */
  keyOfKeyColumn?: string;
}

/** One page of these rows. */
export interface PageQuestion extends Question {
  order: RowOrder;
  offset: number;
  limit: number;
  /** SQL of the data to read, with its values appended. */
  dataOf: (values: unknown[]) => string;
  /** What no row of the table is larger than. */
  maxRowBytes: number;
}

/** A row of a page that may be too large. What is beyond `maxPageBytes` comes without its data. */
export interface Measured {
  is_beyond?: boolean;
}

export type PageRow = StoredRow & Measured;

/** The statement for a page of rows, as `PageRow`; its values are appended. */
export function pageStatement(question: PageQuestion, values: unknown[]): string {
  const { order, filter, offset, limit } = question;
  const end = offset + limit;
  const isWalked = order.place.kind === 'id' && isIndexed(filter) && !isPinned(question) && end <= maxWalkedEnd;
  return bounded(question, isWalked ? walkedPage(question, order.direction, values) : plainPage(question, values));
}

/** Whether it is known to be little work before it is asked. One regular expression may be much work on a single row. */
export function isSmall(question: PageQuestion): boolean {
  const { filter, order, offset } = question;
  if (expressionsOf(filter).length > 0) return false;
  return isPinned(question) || (requiredBy(filter).length === 0 && order.place.kind === 'id' && offset <= maxWalkedEnd);
}

/** What stands behind FROM for all rows meant; its values are appended. */
export function rowsOf(question: Question, values: unknown[]): string {
  return `row WHERE ${whereOf(question, values)}`;
}

/** The statement for the rows of these ids, in their order, as `PageRow`. */
export function rowsOfIds(question: PageQuestion, ids: number[], values: unknown[]): string {
  const columns = columnsOf(question, values);
  const number = `$${values.push(question.tableNumber)}::bigint`;
  const list = `$${values.push(ids)}::int[]`;
  return bounded(
    question,
    `SELECT ${columns} FROM row WHERE table_number = ${number} AND id = ANY (${list}) ORDER BY array_position(${list}, id)`,
  );
}

/** The statement for a page, by id, of what is meant but these, as `PageRow`. */
export function pageWithoutIds(question: PageQuestion, ids: number[], values: unknown[]): string {
  const columns = columnsOf(question, values);
  const rows = `${rowsOf(question, values)} AND row.id <> ALL ($${values.push(ids)}::int[])`;
  return bounded(question, `SELECT ${columns} FROM ${rows} ORDER BY row.id ${pageOf(question, values)}`);
}

/** The page with `is_beyond`. The sum of what `column`, a `jsonb`, takes runs in the order of the page. */
export function measured(page: string, column: string, others: string[] = []): string {
  return `
    SELECT ${[...others, `CASE WHEN is_beyond THEN '{}' ELSE ${column} END AS ${column}`, 'is_beyond'].join(', ')}
    FROM (
      SELECT *, sum(octet_length(${column}::text)) OVER (ROWS UNBOUNDED PRECEDING) > ${maxPageBytes} AS is_beyond
      FROM (${page}) AS page) AS measured`;
}

/** Measures rows only where they can be too large together. */
function bounded({ limit, maxRowBytes }: PageQuestion, page: string): string {
  if (limit * maxRowBytes <= maxPageBytes) return page;
  return measured(page, 'data', ['id', 'created_at', 'updated_at', 'computed', 'stale']);
}

function plainPage(question: PageQuestion, values: unknown[]): string {
  const columns = columnsOf(question, values);
  const rows = rowsOf(question, values);
  return `SELECT ${columns} FROM ${rows} ORDER BY ${orderTerms(question.order, values)} ${pageOf(question, values)}`;
}

/**
 * Equality in the order of ids. For values that many rows have, a walk in this order soon fills the page, and the index
 * over `data` would bring far too many rows; for rare ones it is the opposite, and Postgres cannot tell them apart. So a
 * short walk comes first. If it does not fill the page, the share of rows that it found tells whether a longer walk is
 * cheaper than the index, which has the last word in any case.
 */
function walkedPage(question: PageQuestion, direction: Direction, values: unknown[]): string {
  const { offset, limit, filter } = question;
  const columns = columnsOf(question, values);
  const number = `$${values.push(question.tableNumber)}::bigint`;
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
    ORDER BY id ${direction} ${pageOf(question, values)}`;
}

function columnsOf({ dataOf }: PageQuestion, values: unknown[]): string {
  return `row.id, row.created_at, row.updated_at, ${dataOf(values)} AS data, row.computed, row.stale`;
}

function pageOf({ offset, limit }: PageQuestion, values: unknown[]): string {
  return `OFFSET $${values.push(offset)}::bigint LIMIT $${values.push(limit)}::bigint`;
}

function whereOf(question: Question, values: unknown[]): string {
  const table = `row.table_number = $${values.push(question.tableNumber)}::bigint`;
  // The index over keys is exact where the one over data only guesses how many rows there are.
  const keys = keysOf(question).map(
    (choices) =>
      `row.key = ANY(ARRAY(SELECT row_key(value) FROM jsonb_array_elements($${values.push(toJsonb(choices))}::jsonb)))`,
  );
  return [table, ...keys, conditionOf(question.filter, values)].join(' AND ');
}

/** Whether the filter names ids, or values of the key column. */
function isPinned(question: Question): boolean {
  return (
    keysOf(question).length > 0 ||
    requiredBy(question.filter).some((filter) => isEquality(filter) && filter.place.kind === 'id')
  );
}

/** For each condition on the key column that every row must meet: the values, one of which its key has to be. */
function keysOf({ filter, keyOfKeyColumn }: Question): unknown[][] {
  return requiredBy(filter)
    .filter(isEquality)
    .filter(({ place }) => place.kind === 'column' && place.path.length === 0 && place.key === keyOfKeyColumn)
    .map((equality) => (equality.kind === 'equals' ? [equality.value] : equality.values));
}

/** The conditions that all have to be met. */
function requiredBy(filter: Filter): Filter[] {
  return filter.kind === 'all' ? filter.of.flatMap(requiredBy) : [filter];
}

function isEquality(filter: Filter): filter is Extract<Filter, { kind: 'equals' | 'one of' }> {
  return filter.kind === 'equals' || filter.kind === 'one of';
}
