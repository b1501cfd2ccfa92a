import { decoderOf, encodingOf } from './decoder';

/** Code pages that are not named by their number. */
const labels: Record<number, string> = {
  10000: 'macintosh',
  10001: 'shift_jis',
  10002: 'big5',
  10003: 'euc-kr',
  10007: 'x-mac-cyrillic',
  10008: 'gbk',
  65001: 'utf-8',
};

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

/** Decodes bytes of a code page. Unknown code pages are decoded as windows-1252. */
export function decodeCodePage(bytes: Buffer, page: number): string {
  const encoding = encodingOf(labels[page] ?? `cp${page}`) ?? 'windows-1252';
  return decoderOf(encoding).decode(bytes);
}
