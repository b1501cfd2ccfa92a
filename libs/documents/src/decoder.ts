import { TextDecoder } from 'node:util';
import iconv from 'iconv-lite';

export interface Decoder {
  decode: (bytes?: Buffer, options?: { stream: boolean }) => string;
}

/** Charset labels of mail and of detectors that neither TextDecoder nor iconv-lite knows. */
const aliases: Record<string, string> = {
  'cp-850': 'cp850',
  'iso-8859-8-e': 'iso-8859-8',
  'mac-cyrillic': 'x-mac-cyrillic',
  'mac-greek': 'macgreek',
  'mac-iceland': 'maciceland',
  'mac-latin2': 'maccenteuro',
  'mac-roman': 'macintosh',
  'mac-turkish': 'macturkish',
  'x-mac-ce': 'maccenteuro',
  'x-mac-greek': 'macgreek',
  'x-mac-turkish': 'macturkish',
  'utf-16-be': 'utf-16be',
  'utf-16-le': 'utf-16le',
  cp932: 'shift_jis',
  cp936: 'gbk',
  cp949: 'euc-kr',
  cp950: 'big5',
  maccyrillic: 'x-mac-cyrillic',
  maclatin2: 'maccenteuro',
  macroman: 'macintosh',
};

/**
 * Name of the encoding with this label: TextDecoder's, else iconv-lite's (DOS, other Macintosh pages, UTF-32, and all of
 * them when Node was built without full ICU). Undefined for unknown labels.
 */
export function encodingOf(label: string): string | undefined {
  const lower = label.trim().toLowerCase();
  const name = aliases[lower] ?? lower;
  try {
    return new TextDecoder(name).encoding;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return iconv.encodingExists(name) && !notText.test(name) ? name : undefined;
}

/** Transfer encodings that iconv-lite counts as charsets. */
const notText = /^(?:base64|hex|binary|internal|utf-?7|cesu)/;

/** Some versions of Node decode windows-1252 as ISO-8859-1. */
const isLatin1 = new TextDecoder('windows-1252').decode(Uint8Array.of(0x80)) !== '€';

/** @param encoding A name that `encodingOf` returned */
export function decoderOf(encoding: string): Decoder {
  if (encoding === 'windows-1252' && isLatin1) return iconvDecoder(encoding);
  try {
    return new TextDecoder(encoding);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return iconvDecoder(encoding);
}

function iconvDecoder(encoding: string): Decoder {
  const stream = iconv.getDecoder(encoding);
  return {
    decode: (bytes, options) => (bytes ? stream.write(bytes) : '') + (options?.stream ? '' : (stream.end() ?? '')),
  };
}
