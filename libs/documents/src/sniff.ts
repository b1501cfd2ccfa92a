import { fileTypeFromBuffer } from 'file-type';
import { UnreadableDocument } from './block';
import { CompoundFile } from './compound-file';
import { hasControls } from './text-controls';
import { markedEncoding, wideEncoding } from './wide-encoding';
import { isCompoundFile } from './zip';

export interface Sniffed {
  contentType: string;
  extension: string;
}

/** Magic numbers that no text begins with by chance, after an optional byte order mark. */
const unmistakable: Record<string, RegExp> = {
  'application/pdf': /^(?:\xef\xbb\xbf)?%PDF-\d/,
  'application/rtf': /^(?:\xef\xbb\xbf)?\{\\rtf\d/,
  'application/xml': /^/,
};

const excel = { contentType: 'application/vnd.ms-excel', extension: '.xls' };
/** A presentation may have parts of the others as well. */
const programs: { part: string; sniffed: Sniffed }[] = [
  {
    part: 'PowerPoint Document',
    sniffed: { contentType: 'application/vnd.ms-powerpoint', extension: '.ppt' },
  },
  { part: '__properties_version1.0', sniffed: { contentType: 'application/vnd.ms-outlook', extension: '.msg' } },
  { part: 'WordDocument', sniffed: { contentType: 'application/msword', extension: '.doc' } },
  { part: 'Workbook', sniffed: excel },
  { part: 'Book', sniffed: excel },
];

/**
 * Content sniffing by magic number; undefined for text and unknown content. Some magic numbers are plain letters ("BM",
 * "MZ") with which a text may begin: these count only when the content has bytes that text does not have.
 */
export async function sniff(bytes: Buffer): Promise<Sniffed | undefined> {
  // Throws for truncated containers; the parser reports these.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  if (!found) return undefined;
  const isCertain = unmistakable[found.mime]?.test(bytes.toString('latin1', 0, 20));
  if (!isCertain && looksLikeText(bytes)) return undefined;
  if (isCompoundFile(bytes)) return compoundFileOf(bytes);
  return { contentType: found.mime, extension: `.${found.ext}` };
}

/** Compound files by the names of their parts; of no type when encrypted, damaged or of another program. */
function compoundFileOf(bytes: Buffer): Sniffed {
  const other = { contentType: 'application/x-cfb', extension: '.cfb' };
  try {
    const file = new CompoundFile(bytes);
    return programs.find(({ part }) => file.has(part))?.sniffed ?? other;
  } catch (error) {
    if (error instanceof UnreadableDocument) return other;
    throw error;
  }
}

/** Whether the content is text: without control characters that text does not use, or in UTF-16 or UTF-32. */
export function looksLikeText(bytes: Buffer): boolean {
  return bytes.length > 0 && (!hasControls(bytes) || (markedEncoding(bytes) ?? wideEncoding(bytes)) !== undefined);
}
