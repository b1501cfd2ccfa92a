import { type Blocks, DocumentWithoutText, type Source } from './block';
import { charsetIn, charsetInPage, charsetInXml, decodeSlices, decodeText, sliceBytes } from './decode-text';
import { parseExcelFile, parsePowerPointFile, parseWordFile } from './legacy-office';
import { parseCsv, parseTsv } from './parse-csv';
import { parseHtml } from './parse-html';
import { parseJson, parseJsonLines } from './parse-json';
import { parseMarkdown } from './parse-markdown';
import { parseMdx } from './parse-mdx';
import { isNotebook, parseNotebook } from './parse-notebook';
import { parsePdf } from './parse-pdf';
import { parseSource } from './parse-source';
import { parseText } from './parse-text';
import { parseXml } from './parse-xml';
import { archiveText, bookText, markupText, pageText } from './plain-text';
import { sourceExtensions, sourceTypes } from './source-types';
import { isCompoundFile } from './zip';

export interface Format {
  name: string;
  /** Lower case, without parameters. */
  contentTypes: string[];
  /** Lower case, with the dot. */
  extensions: string[];
  /** Plain-text formats: sniffing cannot tell them from other texts. */
  isText?: true;
  /** Content types of other formats in files with this one's name and type. */
  within?: string[];
  parse: (source: Source) => Blocks | Promise<Blocks>;
  /** Text without structure, for documents whose `parse` fails. Absent where only `parse` finds any text. */
  plainText?: (source: Source) => Blocks | Promise<Blocks>;
}

const asWritten = (source: Source) => parseText(textSlices(source));

export const plainText: Format = {
  name: 'plain text',
  contentTypes: ['text/plain'],
  extensions: ['.txt', '.text', '.log'],
  isText: true,
  parse: (source) => parseText(textSlices(source)),
};

/** The text of pictures is read by OCR only (read-by-ocr.ts). */
function refusePicture(): never {
  throw new DocumentWithoutText(
    'The file is a picture: index the file with `parsing.ocr: true`, which reads its text by text recognition (OCR).',
    true,
  );
}

/** All formats that can be indexed. Parsers with a large library import it lazily, on first use. */
export const formats: readonly Format[] = [
  plainText,
  {
    name: 'Markdown',
    contentTypes: ['text/markdown', 'text/x-markdown'],
    extensions: ['.md', '.markdown'],
    isText: true,
    parse: ({ bytes, contentType }) => parseMarkdown(decodeText(bytes, charsetIn(contentType))),
    plainText: asWritten,
  },
  {
    name: 'HTML',
    contentTypes: ['text/html'],
    extensions: ['.html', '.htm'],
    isText: true,
    parse: ({ bytes, contentType }) => parseHtml(decodeText(bytes, charsetIn(contentType) ?? charsetInPage(bytes))),
    plainText: pageText,
  },
  {
    name: 'XHTML',
    contentTypes: ['application/xhtml+xml'],
    extensions: ['.xhtml'],
    isText: true,
    parse: ({ bytes, contentType }) =>
      parseHtml(decodeText(bytes, charsetIn(contentType) ?? charsetInPage(bytes)), { xhtml: true }),
    plainText: pageText,
  },
  {
    name: 'Word',
    contentTypes: [
      'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      'application/vnd.openxmlformats-officedocument.wordprocessingml.template',
      'application/vnd.ms-word.document.macroenabled.12',
      'application/msword',
    ],
    extensions: ['.docx', '.dotx', '.docm', '.doc', '.dot'],
    within: ['application/rtf', 'application/xml'],
    parse: parseWordFile,
    plainText: async ({ bytes }) =>
      isCompoundFile(bytes)
        ? (await import('./parse-doc')).docText(bytes)
        : archiveText(bytes, {
            save: '.docx',
            parts: /^word\/(?:document|footnotes|endnotes)\w*\.xml$/,
            elements: 't',
          }),
  },
  {
    name: 'PowerPoint',
    contentTypes: [
      'application/vnd.openxmlformats-officedocument.presentationml.presentation',
      'application/vnd.openxmlformats-officedocument.presentationml.slideshow',
      'application/vnd.ms-powerpoint.presentation.macroenabled.12',
      'application/vnd.ms-powerpoint',
    ],
    extensions: ['.pptx', '.ppsx', '.pptm', '.ppt', '.pps', '.pot'],
    parse: parsePowerPointFile,
    plainText: ({ bytes }) =>
      archiveText(bytes, { save: '.pptx', parts: /^ppt\/(?:slides|notesSlides)\/\w+\.xml$/, elements: 't' }),
  },
  {
    name: 'Excel',
    contentTypes: [
      'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      'application/vnd.openxmlformats-officedocument.spreadsheetml.template',
      'application/vnd.ms-excel.sheet.macroenabled.12',
      'application/vnd.ms-excel.sheet.binary.macroenabled.12',
      'application/vnd.ms-excel',
    ],
    extensions: ['.xlsx', '.xltx', '.xlsm', '.xlsb', '.xls', '.xlt'],
    within: ['application/xml'],
    parse: parseExcelFile,
    plainText: ({ bytes }) =>
      archiveText(bytes, { save: '.xlsx', parts: /^xl\/(?:sharedStrings|worksheets\/\w+)\.xml$/, elements: 't' }),
  },
  {
    name: 'OpenDocument',
    contentTypes: [
      'application/vnd.oasis.opendocument.text',
      'application/vnd.oasis.opendocument.spreadsheet',
      'application/vnd.oasis.opendocument.presentation',
    ],
    extensions: ['.odt', '.ods', '.odp'],
    parse: async ({ bytes, onReading }) => (await import('./parse-odf')).parseOdf(bytes, onReading),
    plainText: ({ bytes }) => archiveText(bytes, { save: 'OpenDocument', parts: /^content\.xml$/ }),
  },
  {
    name: 'Rich Text Format',
    contentTypes: ['application/rtf', 'text/rtf'],
    extensions: ['.rtf'],
    parse: async ({ bytes }) => (await import('./parse-rtf')).parseRtf(bytes),
  },
  {
    name: 'EPUB',
    contentTypes: ['application/epub+zip'],
    extensions: ['.epub'],
    parse: async ({ bytes, onReading }) => (await import('./parse-epub')).parseEpub(bytes, onReading),
    plainText: ({ bytes }) => bookText(bytes),
  },
  {
    name: 'PDF',
    contentTypes: ['application/pdf'],
    extensions: ['.pdf'],
    parse: ({ bytes, onReading }) => parsePdf(bytes, onReading),
  },
  {
    name: 'picture',
    contentTypes: ['image/png', 'image/jpeg', 'image/webp', 'image/tiff'],
    extensions: ['.png', '.jpg', '.jpeg', '.webp', '.tif', '.tiff'],
    parse: refusePicture,
  },
  {
    name: 'MDX',
    contentTypes: ['text/mdx'],
    extensions: ['.mdx'],
    isText: true,
    parse: ({ bytes, contentType }) => parseMdx(decodeText(bytes, charsetIn(contentType))),
    plainText: asWritten,
  },
  {
    name: 'CSV',
    contentTypes: ['text/csv', 'application/csv'],
    extensions: ['.csv'],
    isText: true,
    parse: (source) => parseCsv(textSlices(source)),
    plainText: asWritten,
  },
  {
    name: 'TSV',
    contentTypes: ['text/tab-separated-values'],
    extensions: ['.tsv', '.tab'],
    isText: true,
    parse: (source) => parseTsv(textSlices(source)),
    plainText: asWritten,
  },
  {
    name: 'notebook',
    contentTypes: ['application/x-ipynb+json'],
    extensions: ['.ipynb'],
    isText: true,
    parse: readJsonOrNotebook,
    plainText: asWritten,
  },
  {
    name: 'JSON',
    contentTypes: ['application/json', 'text/json'],
    extensions: ['.json', '.geojson', '.webmanifest'],
    isText: true,
    parse: readJsonOrNotebook,
    plainText: asWritten,
  },
  {
    name: 'JSON Lines',
    contentTypes: ['application/jsonl', 'application/x-ndjson', 'application/x-jsonlines', 'application/json-lines'],
    extensions: ['.jsonl', '.ndjson'],
    isText: true,
    parse: (source) => parseJsonLines(textSlices(source)),
    plainText: asWritten,
  },
  {
    name: 'XML',
    contentTypes: ['application/xml', 'text/xml'],
    extensions: ['.xml', '.rss', '.atom', '.gpx', '.kml', '.svg', '.xsd', '.xsl', '.xslt', '.plist'],
    isText: true,
    parse: (source) => parseXml(textSlices(source, charsetInXml(source.bytes))),
    plainText: ({ bytes, contentType }) => markupText(decodeText(bytes, charsetIn(contentType) ?? charsetInXml(bytes))),
  },
  {
    name: 'mail',
    contentTypes: ['message/rfc822'],
    extensions: ['.eml'],
    isText: true,
    parse: async ({ bytes }) => (await import('./parse-eml')).parseEml(bytes),
    plainText: async ({ bytes }) => (await import('./parse-eml')).mailText(bytes),
  },
  {
    name: 'Outlook message',
    contentTypes: ['application/vnd.ms-outlook'],
    extensions: ['.msg'],
    parse: async ({ bytes }) => (await import('./parse-msg')).parseMsg(bytes),
  },
  {
    name: 'calendar',
    contentTypes: ['text/calendar'],
    extensions: ['.ics'],
    isText: true,
    parse: async ({ bytes, contentType }) =>
      (await import('./parse-calendar')).parseCalendar(decodeText(bytes, charsetIn(contentType))),
    plainText: asWritten,
  },
  {
    name: 'source code',
    contentTypes: sourceTypes,
    extensions: sourceExtensions,
    isText: true,
    parse: (source) => parseSource(textSlices(source)),
    plainText: asWritten,
  },
];

/** Notebooks are sent as JSON too, so their content decides. */
function readJsonOrNotebook({ bytes, contentType, onProgress }: Source): Blocks {
  const json = decodeText(bytes, charsetIn(contentType));
  return isNotebook(json) ? parseNotebook(json, onProgress) : parseJson(json, onProgress);
}

/** Characters between two steps of progress. */
const pieceLength = 32_768;

/** Not between the halves of a surrogate pair. */
function endOfPiece(text: string, start: number): number {
  const end = start + pieceLength;
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') ? end + 1 : end;
}

function* textSlices({ bytes, contentType, onProgress }: Source, charset?: string): Generator<string> {
  let read = 0;
  for (const slice of decodeSlices(bytes, charsetIn(contentType) ?? charset)) {
    const size = Math.min(sliceBytes, bytes.length - read);
    for (let start = 0, end = 0; start < slice.length; start = end) {
      end = endOfPiece(slice, start);
      onProgress?.((read + size * (start / slice.length)) / bytes.length);
      yield slice.slice(start, end);
    }
    read += size;
  }
}
