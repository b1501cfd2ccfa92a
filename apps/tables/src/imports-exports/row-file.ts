import { readCsv } from './csv-rows';
import { readJsonArray, readJsonLines } from './json-rows';
import { peekStart } from './peek-start';
import { type IgnoredColumns, maxRowCharacters, type ReadColumns, type ReadRow, UnreadableFile } from './read-row';

/**
 * Reads a CSV file with a header, a JSON array, or JSON Lines. The content type decides, else the first character.
 * Deterministic: the same content gives the same rows in the same order. Throws UnreadableFile when the rest cannot be
 * read; a problem of one row is part of the output.
 */
export async function* readRows(
  text: AsyncIterable<string>,
  contentType: string,
  columns: ReadColumns,
  ignored: IgnoredColumns,
): AsyncIterable<ReadRow> {
  const { start, all } = await peekStart(text, {
    nothing: '',
    join: (known, next) => known + next,
    isEnough: (known) => known.length > maxRowCharacters || known.trimStart() !== '',
  });
  const sign = start.trimStart().slice(0, 1);
  if (sign === '') throw new UnreadableFile('The file is empty: upload a file with rows.');

  const format = formatOf(contentType) ?? ('[{'.includes(sign) ? 'json' : 'csv');
  if (format === 'csv') yield* readCsv(all, columns, ignored);
  else if (sign === '[') yield* readJsonArray(all, columns, ignored);
  else if (sign === '{') yield* readJsonLines(all, columns, ignored);
  else {
    throw new UnreadableFile(
      `The content type is ${contentType}, but the file begins with neither [ nor {: send a JSON array of rows, or one JSON object per line.`,
    );
  }
}

function formatOf(contentType: string): 'csv' | 'json' | undefined {
  const [, subtype = ''] = contentType.split(';')[0]!.trim().toLowerCase().split('/');
  if (/(^|[.+-])csv$/.test(subtype)) return 'csv';
  return /(^|[.+-])(json|jsonl|ndjson|jsonlines)$/.test(subtype) ? 'json' : undefined;
}
