import { textBlocks } from './alt-chunk';
import type { Blocks, Source } from './block';
import { decodeSlices } from './decode-text';
import { decoderOf } from './decoder';
import { tooOldWorkbook } from './excel-binary';
import { looksLikeText } from './sniff';
import { markedEncoding } from './wide-encoding';
import { isCompoundFile } from './zip';

const headBytes = 8_000;
/** Beginnings of streams of Excel 2 to 4, which have no file around them. */
const oldWorkbooks = new Set(['09000400', '09020600', '09040600']);
const markup = /^\s*(?:<\?xml|<!doctype html|<!--|<(?:html|head|meta|body|style|table|div|p|center)\b)/i;

/*
 * Files with the names of Office documents have other content as well: that of before 2007, and HTML, web archives, RTF, XML
 * of 2003 and tables with tabs, which programs save for Word and Excel.
 */

export async function parseWordFile({ bytes, onReading }: Source): Promise<Blocks> {
  if (isCompoundFile(bytes)) return (await import('./parse-doc')).parseDoc(bytes);
  const head = headOf(bytes);
  if (/<(?:\w+:)?wordDocument\b/.test(head)) return (await import('./parse-word-2003')).parseWord2003(bytes);
  return isReadable(head) ? textBlocks(bytes, '') : (await import('./parse-docx')).parseDocx(bytes, onReading);
}

export async function parseExcelFile({ bytes, onReading }: Source): Promise<Blocks> {
  if (isCompoundFile(bytes)) return (await import('./parse-xls')).parseXls(bytes);
  const head = headOf(bytes);
  if (oldWorkbooks.has(bytes.toString('hex', 0, 4))) throw tooOldWorkbook();
  if (head.includes('urn:schemas-microsoft-com:office:spreadsheet') && /<(?:\w+:)?Workbook\b/.test(head)) {
    return (await import('./parse-excel-2003')).parseExcel2003(bytes);
  }
  if (isReadable(head)) return textBlocks(bytes, '');
  if (head.includes('\t') && looksLikeText(bytes)) return (await import('./parse-csv')).parseTsv(decodeSlices(bytes));
  return (await import('./parse-xlsx')).parseXlsx(bytes, onReading);
}

export async function parsePowerPointFile({ bytes, onReading }: Source): Promise<Blocks> {
  if (isCompoundFile(bytes)) return (await import('./parse-ppt')).parsePpt(bytes);
  return (await import('./parse-pptx')).parsePptx(bytes, onReading);
}

function headOf(bytes: Buffer): string {
  return decoderOf(markedEncoding(bytes) ?? 'windows-1252').decode(bytes.subarray(0, headBytes), { stream: true });
}

function isReadable(head: string): boolean {
  const text = head.replace(/^\uFEFF|^ï»¿/, '');
  return (
    /^\s*\{\\rtf/.test(text) || /^(?:MIME-Version|Content-Type):/im.test(text.slice(0, 1_000)) || markup.test(text)
  );
}
