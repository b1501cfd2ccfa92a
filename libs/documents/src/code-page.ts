import { decoderOf, encodingOf } from './decoder';

/** Code pages that are not named by their number. */
const labels: Record<number, string> = {
  10000: 'macintosh',
  10001: 'shift_jis',
  10002: 'big5',
  10003: 'euc-kr',
  10007: 'x-mac-cyrillic',
  10008: 'gbk',
  1200: 'utf-16le',
  20127: 'us-ascii',
  20866: 'koi8-r',
  20932: 'euc-jp',
  21866: 'koi8-u',
  50220: 'iso-2022-jp',
  50221: 'iso-2022-jp',
  50222: 'iso-2022-jp',
  51932: 'euc-jp',
  51936: 'gbk',
  51949: 'euc-kr',
  54936: 'gb18030',
  65001: 'utf-8',
};

/** Code pages 28591 to 28605 are ISO 8859. */
const firstIso = 28_590;

/** Code page by font charset (`\fcharset`). Charset 1 and unknown ones use the code page of the document. */
const ofCharset: Record<number, number> = {
  0: 1252,
  77: 10000,
  78: 10001,
  79: 10003,
  80: 10008,
  81: 10002,
  89: 10007,
  128: 932,
  129: 949,
  134: 936,
  136: 950,
  161: 1253,
  162: 1254,
  163: 1258,
  177: 1255,
  178: 1256,
  186: 1257,
  204: 1251,
  222: 874,
  238: 1250,
  254: 437,
  255: 850,
};

export function codePageOfCharset(charset: number): number | undefined {
  return ofCharset[charset];
}

/** Name of the encoding of a code page; windows-1252 for unknown ones. */
export function encodingOfPage(page: number): string {
  const isIso = page > firstIso && page <= firstIso + 16;
  return encodingOf(labels[page] ?? (isIso ? `iso-8859-${page - firstIso}` : `cp${page}`)) ?? 'windows-1252';
}

export function decodeCodePage(bytes: Buffer, page: number): string {
  return decoderOf(encodingOfPage(page)).decode(bytes);
}
