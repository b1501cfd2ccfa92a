import { createHash } from 'node:crypto';
import { ApiError } from '@parley/contracts/errors';
import { defaultPageSize, type PageQuery } from '@parley/contracts/paging';

export interface KeyColumn<Row> {
  /** Column or expression that the rows are ordered by; never null. A timestamp has milliseconds: `timestamptz(3)`. */
  sql: string;
  type: 'text' | 'timestamptz' | 'int8';
  of: (row: Row) => string | number | Date;
}

/**
 * Column of text that has one value in all rows of the list, and stands before the others in their index. It is bounded from
 * both sides in place of an equality, and ordered by: only this index has that order. Of a frequent value that is given as an
 * equality Postgres expects the newest rows to have it too, and looks for it among all, however long ago the last one was.
 */
export interface LeadingColumn {
  sql: string;
  /** SQL of the value, which is not null. */
  value: string;
  /** SQL of the ends of a span of the first key column. The walk begins and ends there; a page behind a token asks for it too. */
  from?: string;
  to?: string;
}

/** What Postgres takes as a value of the type, so that a forged token cannot make a query fail. */
const checks: Record<KeyColumn<unknown>['type'], (value: string) => boolean> = {
  text: (value) => value.length <= 2000 && !value.includes('\0'),
  timestamptz: (value) => /^(?!0000)\d{4}-/.test(value) && isTimestamp(value),
  int8: (value) => /^-?\d{1,18}$/.test(value),
};

/** Paging by the key of the last row. The columns together must be unique, or rows would be skipped. */
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
   * SQL that holds for the rows behind the token, which have the value of the leading column; its values are appended. Throws
   * InvalidQuery for a bad token.
   */
  after(token: string | undefined, boundTo: unknown, values: unknown[]): string {
    const keys = token === undefined ? [] : this.bound(this.read(token, boundTo), values);
    const { leading } = this;
    if (!leading) return keys.length > 0 ? this.compared(this.direction === 'desc' ? '<' : '>', keys) : 'true';
    const [first] = this.columns;
    const ends = { '>': leading.from, '<': leading.to };
    // Of two bounds on one side, Postgres may begin at the wider one and read all up to the other.
    return (['>', '<'] as const)
      .map((side) => {
        if (keys.length > 0 && side === (this.direction === 'desc' ? '<' : '>')) return this.compared(side, keys);
        const end = ends[side];
        return this.compared(`${side}=`, end === undefined ? [] : [`${end}::${first!.type}`]);
      })
      .join(' AND ');
  }

  /** SQL that compares the leading column, and as many others as there are keys, with its value and these. */
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

  /** The rows of one page out of `limit + 1`, and the token of the next one if there is one. */
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
    throw new ApiError(
      'InvalidQuery',
      'nextToken is not one of this list: take it from meta.nextToken of the page before, with the same parameters.',
    );
  }

  /** Ties a token to its query, so that it cannot continue another list. */
  private fingerprint(boundTo: unknown): string {
    return createHash('sha256')
      .update(`${this.ordered(this.columns)}${JSON.stringify(boundTo)}`)
      .digest('base64url')
      .slice(0, 12);
  }
}

/** Entries that a page may have. */
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
    // Whatever it is, it is not a token of ours.
    return [];
  }
}
