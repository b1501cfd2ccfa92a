import { stringify } from 'csv-stringify/sync';
import type { ExportFormat } from '../jobs/job.entity';

export type WrittenRow = Record<string, unknown>;

export const contentTypes: Record<ExportFormat, string> = { csv: 'text/csv', json: 'application/json' };

/**
 * Streams a file with these columns. CSV cells are written unchanged, also those that a spreadsheet would take for a
 * formula: escaping would change values, and an export has to be importable.
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
