import { formatTexts } from '@parley/documents/format-texts';
import { type Format, formats } from '@parley/documents/formats';
import * as limits from '@parley/documents/limits';

/** Markdown of all formats of documents: names, types, what is read and what is not, limits. */
export function formatsSections(): string {
  return formats.map(section).join('\n\n');
}

/** Limits of all documents. */
export function documentLimitsTable(): string {
  const megabytes = (bytes: number) => `${bytes / 1e6} MB`;
  const rows = [
    ['text', '50 characters per byte of the file; always 5 million, never more than 200 million'],
    ['entries of an archive (Office, OpenDocument, EPUB)', limits.mostArchiveEntries.toLocaleString('en-US')],
    ['an entry, or a stream of a PDF, unpacked', megabytes(limits.mostArchiveEntryBytes)],
    ['all entries, or all streams of a PDF, unpacked', megabytes(limits.mostArchiveBytes)],
    [
      'processor time',
      `${limits.readingProcessorMs(0) / 1000} s and 1 s per MB, at most ${limits.readingProcessorMs(1e12) / 1000} s; ${limits.ocrProcessorMs / 1000} s more for each page read by OCR`,
    ],
  ];
  return ['| limit of each document | value |', '| --- | --- |', ...rows.map((row) => `| ${row.join(' | ')} |`)].join(
    '\n',
  );
}

function section({ name, extensions, contentTypes }: Format): string {
  const { read, notRead, limits: own } = formatTexts[name]!;
  const code = (names: string[]) => names.map((each) => `\`${each}\``).join(', ');
  return [
    `### ${name[0]!.toUpperCase()}${name.slice(1)}`,
    '',
    `- Extensions: ${code(extensions)}`,
    `- Content types: ${code(contentTypes)}`,
    `- Read: ${read}`,
    `- Not read: ${notRead}`,
    ...(own ? [`- Limits: ${own[0]!.toUpperCase()}${own.slice(1)}`] : []),
  ].join('\n');
}
