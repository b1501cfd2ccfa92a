import { hash } from 'node:crypto';
import { ApiError } from '@parley/contracts/errors';
import { defaultPageSize, type PageQuery } from '@parley/contracts/paging';

export interface KeyColumn<Row> {
  /** Column or expression of the sort order; never null. Timestamps have milliseconds: `timestamptz(3)`. */
  sql: string;
  type: 'text' | 'timestamptz' | 'int8';
  of: (row: Row) => string | number | Date;
}

/**
 * Text column with one value in all rows of the list, first in their index. Query planner: it is bounded from both
 * sides instead of compared for equality, and part of ORDER BY, because only this index has that order. With an
 * equality on a frequent value, Postgres expects recent rows to have it and searches all rows, however far back the
 * last match is.
 */
export interface LeadingColumn {
  sql: string;
  value: string;
  /** SQL of an inclusive range of the first key column, also applied to pages after a token. */
  from?: string;
  to?: string;
}

/** Accepted values per type, so that a forged token cannot make a query fail. */
const checks: Record<KeyColumn<unknown>['type'], (value: string) => boolean> = {
  text: (value) => value.length <= 2000 && !value.includes('\0'),
  timestamptz: (value) => /^(?!0000)\d{4}-/.test(value) && isTimestamp(value),
  int8: (value) => /^-?\d{1,18}$/.test(value),
};

/** Keyset pagination: pages continue after the key of the last row. The columns together must be unique. */
export class Keyset<Row> {
  constructor(
    private readonly columns: KeyColumn<Row>[],
    private readonly direction: 'asc' | 'desc' = 'desc',
    private readonly leading?: LeadingColumn,
  ) {}

  get orderBy(): string {
    return this.ordered([...(this.leading ? [this.leading] : []), ...this.columns]);
  }

  /**
   * SQL condition for rows after the token and with the value of the leading column; appends to `values`. Throws
   * InvalidQuery for an invalid token.
   */
  after(token: string | undefined, boundTo: unknown, values: unknown[]): string {
    const keys = token === undefined ? [] : this.bound(this.read(token, boundTo), values);
    const { leading } = this;
    if (!leading) return keys.length > 0 ? this.compared(this.direction === 'desc' ? '<' : '>', keys) : 'true';
    const [first] = this.columns;
    const ends = { '>': leading.from, '<': leading.to };
    // Only one bound per side: with two, Postgres may start at the wider one and read all rows up to the other.
    return (['>', '<'] as const)
      .map((side) => {
        if (keys.length > 0 && side === (this.direction === 'desc' ? '<' : '>')) return this.compared(side, keys);
        const end = ends[side];
        return this.compared(`${side}=`, end === undefined ? [] : [`${end}::${first!.type}`]);
      })
      .join(' AND ');
  }

  private compared(operator: string, keys: string[]): string {
    const { leading } = this;
    const left = this.columns.slice(0, keys.length).map(({ sql }) => sql);
    if (!leading) return `(${left.join(', ')}) ${operator} (${keys.join(', ')})`;
    return `(${[leading.sql, ...left].join(', ')}) ${operator} (${[`${leading.value}::text`, ...keys].join(', ')})`;
  }

  private bound(key: string[], values: unknown[]): string[] {
    return this.columns.map(({ type }, index) => `$${values.push(key[index])}::${type}`);
  }

  private ordered(columns: { sql: string }[]): string {
    return columns.map(({ sql }) => `${sql} ${this.direction}`).join(', ');
  }

  /** Page out of `limit + 1` rows, with the token of the next page if there is one. */
  page(rows: Row[], limit: number, boundTo: unknown): { rows: Row[]; nextToken?: string } {
    const last = rows[limit - 1];
    if (rows.length <= limit || !last) return { rows };
    return { rows: rows.slice(0, limit), nextToken: this.token(last, boundTo) };
  }

  private token(row: Row, boundTo: unknown): string {
    const key = this.columns.map(({ of }) => {
      const value = of(row);
      return value instanceof Date ? value.toISOString() : String(value);
    });
    return Buffer.from(JSON.stringify([this.fingerprint(boundTo), ...key])).toString('base64url');
  }

  private read(token: string, boundTo: unknown): string[] {
    const [fingerprint, ...key] = parse(token);
    const fits =
      key.length === this.columns.length &&
      this.columns.every(({ type }, index) => typeof key[index] === 'string' && checks[type](key[index]));
    if (fits && fingerprint === this.fingerprint(boundTo)) return key as string[];
    throw invalidNextToken();
  }

  /** Binds a token to its query, so that it cannot continue another list. */
  private fingerprint(boundTo: unknown): string {
    return hash('sha256', `${this.ordered(this.columns)}${JSON.stringify(boundTo)}`, 'base64url').slice(0, 12);
  }
}

/**
 * Inner limit of a page in a prepared statement, whose own limit is a parameter. Query planner: Postgres expects a tenth of
 * the rows for a limit that it does not know, and so plans such a statement anew each time, as long as that seems to be more
 * than the given one. With the next power of ten around it, it is not.
 */
export function knownLimit(limit: number): number {
  let known = 10;
  while (known < limit) known *= 10;
  return known;
}

export function pageSize({ limit, pageSize: size }: PageQuery): number {
  return limit ?? size ?? defaultPageSize;
}

function isTimestamp(value: string): boolean {
  const time = new Date(value);
  return !Number.isNaN(time.getTime()) && time.toISOString() === value;
}

function parse(token: string): unknown[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    return Array.isArray(value) ? (value as unknown[]) : [];
  } catch {
    return [];
  }
}

/** Equal for every list, whatever its tokens contain. */
export function invalidNextToken(): ApiError {
  return new ApiError(
    'InvalidQuery',
    'nextToken is not valid for this list: use meta.nextToken of the previous page, with the same parameters.',
  );
}
