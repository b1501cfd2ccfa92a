export type ReadRow = { location: string; row: Record<string, unknown> } | { location: string; problem: string };

export type ReadColumns = ReadonlyMap<string, { schema: { type: string; format?: string } }>;

/** Limit of the text of one row. A row of the largest table has 120 KB. */
export const maxRowCharacters = 1_000_000;

/** System columns of an export: ignored without a warning. */
const systemColumns = new Set(['id', 'createdAt', 'updatedAt', 'computed', 'stale', 'similarity']);
const maxIgnoredNames = 20;
const maxNameLength = 100;

export class IgnoredColumns {
  private readonly names = new Set<string>();

  add(name: string): void {
    if (!systemColumns.has(name) && this.names.size < maxIgnoredNames) this.names.add(name.slice(0, maxNameLength));
  }

  get warnings(): string[] {
    return [...this.names].map((name) => `${name} is not a column of this table and was ignored.`);
  }
}

export function isRead(row: ReadRow): row is Extract<ReadRow, { row: unknown }> {
  return 'row' in row;
}

export function tooLong(): string {
  return `has more than ${maxRowCharacters} characters.`;
}

/** Error for a file that cannot be read. Its message is public: the problem and the remedy. */
export class UnreadableFile extends Error {
  override readonly name = 'UnreadableFile';
}
