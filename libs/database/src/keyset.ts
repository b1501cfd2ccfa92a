import { createHash } from 'node:crypto';
import { ApiError } from '@parley/contracts/errors';
import { defaultPageSize, type PageQuery } from '@parley/contracts/paging';

export interface KeyColumn<Row> {
  /** Column or expression that the rows are ordered by; never null. A timestamp has milliseconds: `timestamptz(3)`. */
  sql: string;
  type: 'text' | 'timestamptz' | 'int8';
  of: (row: Row) => string | number | Date;
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
  ) {}

  get orderBy(): string {
    return this.columns.map(({ sql }) => `${sql} ${this.direction}`).join(', ');
  }

  /** SQL that holds for the rows behind the token; its values are appended. Throws InvalidQuery for a bad token. */
  after(token: string | undefined, boundTo: unknown, values: unknown[]): string {
    if (token === undefined) return 'true';
    const key = this.read(token, boundTo);
    const left = this.columns.map(({ sql }) => sql).join(', ');
    const right = this.columns.map(({ type }, index) => `$${values.push(key[index])}::${type}`).join(', ');
    return `(${left}) ${this.direction === 'desc' ? '<' : '>'} (${right})`;
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
      .update(`${this.orderBy}${JSON.stringify(boundTo)}`)
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
