/** A row of a file by the names of its columns, or what is wrong with it, and where in the file it stands. */
export type ReadRow = { place: string; row: Record<string, unknown> } | { place: string; problem: string };

/** The columns of the table that the file is read for, by name. */
export type ReadColumns = ReadonlyMap<string, { schema: { type: string } }>;

/** Longest text of one row. A row of the largest table has 120 KB. */
export const maxRowCharacters = 1_000_000;

/** What every export has beside the columns: it is the table's own and never imported. */
const systemColumns = new Set(['id', 'createdAt', 'updatedAt', 'computed', 'stale', 'similarity']);
const maxIgnoredNames = 20;
const maxNameLength = 100;

/** Columns of the file that are none of the table, as many as are worth telling. */
export class IgnoredColumns {
  private readonly names = new Set<string>();

  add(name: string): void {
    if (!systemColumns.has(name) && this.names.size < maxIgnoredNames) this.names.add(name.slice(0, maxNameLength));
  }

  get warnings(): string[] {
    return [...this.names].map((name) => `${name} is no column of this table and was left out.`);
  }
}

export function isRead(row: ReadRow): row is Extract<ReadRow, { row: unknown }> {
  return 'row' in row;
}

export function tooLong(): string {
  return `has more than ${maxRowCharacters} characters.`;
}
