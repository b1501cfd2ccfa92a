import { stringify } from 'csv-stringify/sync';

export const exportFormats = ['csv', 'json'] as const;
export type ExportFormat = (typeof exportFormats)[number];

/** A row as it is shown to clients. */
export type WrittenRow = Record<string, unknown>;

export const contentTypes: Record<ExportFormat, string> = { csv: 'text/csv', json: 'application/json' };

/**
 * The text of a file with these columns of the rows, in pieces. Cells of CSV are as they are stored, also those that a
 * spreadsheet would take for a formula: whatever protects from that changes values, and an export is to be imported again.
 */
export function writtenRows(
  format: ExportFormat,
  columns: string[],
  batches: AsyncIterable<WrittenRow[]>,
): AsyncIterable<string> {
  return format === 'csv' ? csvOf(columns, batches) : jsonOf(columns, batches);
}

async function* csvOf(columns: string[], batches: AsyncIterable<WrittenRow[]>): AsyncIterable<string> {
  yield lines([columns]);
  for await (const rows of batches) yield lines(rows.map((row) => columns.map((column) => cellOf(row[column]))));
}

/** An array with a row in each line. */
async function* jsonOf(columns: string[], batches: AsyncIterable<WrittenRow[]>): AsyncIterable<string> {
  let separator = '[\n';
  for await (const rows of batches) {
    let text = '';
    for (const row of rows) {
      text += separator + JSON.stringify(Object.fromEntries(columns.map((column) => [column, row[column] ?? null])));
      separator = ',\n';
    }
    yield text;
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n';
}

function lines(records: string[][]): string {
  return stringify(records, { quoted_match: /[\r\n]/ });
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
