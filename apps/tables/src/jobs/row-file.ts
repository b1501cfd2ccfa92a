import { readCsv } from './csv-rows';
import { readJsonArray, readJsonLines } from './json-rows';
import { knownStart } from './known-start';
import { type IgnoredColumns, maxRowCharacters, type ReadColumns, type ReadRow } from './read-row';
import { UnreadableFile } from './unreadable-file';

/**
 * The rows of a CSV file with a header, of a JSON array, or of JSON objects in lines of their own: what the content type
 * says, or else what the content looks like. Reading the same content again gives the same rows in the same order.
 * Throws UnreadableFile when nothing can be read from some place on; what is wrong with one row is told in its place.
 */
export async function* readRows(
  text: AsyncIterable<string>,
  contentType: string,
  columns: ReadColumns,
  ignored: IgnoredColumns,
): AsyncIterable<ReadRow> {
  const { start, all } = await knownStart(text, {
    nothing: '',
    join: (known, next) => known + next,
    isEnough: (known) => known.length > maxRowCharacters || known.trimStart() !== '',
  });
  const sign = start.trimStart().slice(0, 1);
  if (sign === '') throw new UnreadableFile('The file is empty.');

  const format = formatOf(contentType) ?? ('[{'.includes(sign) ? 'json' : 'csv');
  if (format === 'csv') yield* readCsv(all, columns, ignored);
  else if (sign === '[') yield* readJsonArray(all, columns, ignored);
  else if (sign === '{') yield* readJsonLines(all, columns, ignored);
  else {
    throw new UnreadableFile(
      `The content type is ${contentType}, but the file begins with neither [ nor {: send a JSON array of rows, or a row in each line.`,
    );
  }
}

function formatOf(contentType: string): 'csv' | 'json' | undefined {
  const [, subtype = ''] = contentType.split(';')[0]!.trim().toLowerCase().split('/');
  if (/(^|[.+-])csv$/.test(subtype)) return 'csv';
  return /(^|[.+-])(json|jsonl|ndjson|jsonlines)$/.test(subtype) ? 'json' : undefined;
}
