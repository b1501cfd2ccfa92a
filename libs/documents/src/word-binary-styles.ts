import { codesIn, type WordBinary } from './word-binary';

const ownList = 0x460b;
const ownLevel = 0x260a;
const deepestLevel = 9;
const levelHeadBytes = 28;
const paragraphStyle = 1;
const noBase = 0xfff;
/** Names of built-in styles, which Word translates to its own language. */
const builtIn: { [number: number]: string } = {
  48: 'list bullet',
  49: 'list number',
  62: 'title',
  74: 'subtitle',
  101: 'html preformatted',
};
const numberFormats: { [code: number]: string } = {
  1: 'upperRoman',
  2: 'lowerRoman',
  3: 'upperLetter',
  4: 'lowerLetter',
  5: 'ordinal',
  22: 'decimalZero',
  23: 'bullet',
  255: 'none',
};

/** Styles as the XML that `WordStyles` reads. */
export function stylesXml(document: WordBinary): Buffer {
  const sheet = document.table('styles');
  if (sheet.length < 6) return Buffer.from('<styles/>');
  const baseBytes = sheet.readUInt16LE(4);
  const styles: string[] = [];
  let number = 0;
  for (let at = 2 + sheet.readUInt16LE(0); at + 2 <= sheet.length; number++) {
    const length = sheet.readUInt16LE(at);
    const style = sheet.subarray(at + 2, at + 2 + length);
    if (style.length >= baseBytes + 2 && baseBytes >= 10) styles.push(styleXml(style, number, baseBytes));
    at += 2 + length;
  }
  return Buffer.from(`<styles>${styles.join('')}</styles>`);
}

function styleXml(style: Buffer, number: number, baseBytes: number): string {
  const kind = style.readUInt16LE(2) & 0xf;
  const base = style.readUInt16LE(2) >> 4;
  const nameLength = style.readUInt16LE(baseBytes);
  const end = baseBytes + 2 + nameLength * 2;
  const written = style.toString('utf16le', baseBytes + 2, end).split(',', 1)[0]!;
  const properties = kind === paragraphStyle ? paragraphProperties(style, end + 2) : Buffer.alloc(0);
  const name = builtInName(style.readUInt16LE(0) & 0xfff) ?? written;
  return (
    `<style w:styleId="${number}"><name w:val="${escaped(name)}"/>` +
    `${base === noBase ? '' : `<basedOn w:val="${base}"/>`}<pPr>${numberingXml(properties)}</pPr></style>`
  );
}

function builtInName(number: number): string | undefined {
  if (number >= 1 && number <= 9) return `heading ${number}`;
  if (number >= 54 && number <= 57) return `list bullet ${number - 52}`;
  if (number >= 58 && number <= 61) return `list number ${number - 56}`;
  return builtIn[number];
}

function paragraphProperties(style: Buffer, at: number): Buffer {
  const start = at + (at % 2);
  if (start + 4 > style.length) return Buffer.alloc(0);
  return style.subarray(start + 4, start + 2 + style.readUInt16LE(start));
}

function numberingXml(properties: Buffer): string {
  let [list, level]: (number | undefined)[] = [];
  for (const { code, operand } of codesIn(properties)) {
    if (code === ownList) list = operand.readInt16LE(0);
    else if (code === ownLevel) level = operand[0];
  }
  if (list === undefined && level === undefined) return '';
  return (
    `<numPr>${level === undefined ? '' : `<ilvl w:val="${level}"/>`}` +
    `${list === undefined ? '' : `<numId w:val="${list}"/>`}</numPr>`
  );
}

interface Level {
  xml: string;
  /** Position behind it. */
  end: number;
}

/** Lists as the XML that `WordNumbering` reads. */
export function numberingPart(document: WordBinary): Buffer {
  const count = document.table('lists').length >= 2 ? document.table('lists').readUInt16LE(0) : 0;
  const lists = document.tableAndRest('lists');
  const xml: string[] = [];
  let at = 2 + count * 28;
  for (let i = 0; i < count && 2 + (i + 1) * 28 <= lists.length; i++) {
    const head = 2 + i * 28;
    const isSimple = (lists[head + 26]! & 1) === 1;
    const levels: string[] = [];
    for (let number = 0; number < (isSimple ? 1 : deepestLevel); number++) {
      const level = levelAt(lists, at, number);
      if (!level) break;
      levels.push(level.xml);
      at = level.end;
    }
    xml.push(`<abstractNum w:abstractNumId="${lists.readInt32LE(head)}">${levels.join('')}</abstractNum>`);
  }
  return Buffer.from(`<numbering>${xml.join('')}${numberings(document.table('numberings'))}</numbering>`);
}

/** Numberings that paragraphs refer to, by the numbers from 1, with what they change in their list. */
function numberings(part: Buffer): string {
  if (part.length < 4) return '';
  const count = Math.min(part.readUInt32LE(0), Math.floor((part.length - 4) / 16));
  const xml: string[] = [];
  let at = 4 + count * 16;
  for (let i = 0; i < count; i++) {
    const head = 4 + i * 16;
    const overrides: string[] = [];
    // A position of the text, which is not used.
    at += 4;
    for (let left = part[head + 12]!; left > 0 && at + 8 <= part.length; left--) {
      const flags = part.readUInt32LE(at + 4);
      const number = flags & 0xf;
      const start = flags & 0x10 && !(flags & 0x20) ? `<startOverride w:val="${part.readInt32LE(at)}"/>` : '';
      at += 8;
      const level = flags & 0x20 ? levelAt(part, at, number) : undefined;
      at = level?.end ?? at;
      overrides.push(`<lvlOverride w:ilvl="${number}">${start}${level?.xml ?? ''}</lvlOverride>`);
    }
    const list = part.readInt32LE(head);
    xml.push(`<num w:numId="${i + 1}"><abstractNumId w:val="${list}"/>${overrides.join('')}</num>`);
  }
  return xml.join('');
}

function levelAt(bytes: Buffer, at: number, number: number): Level | undefined {
  if (at + levelHeadBytes + 2 > bytes.length) return undefined;
  const textAt = at + levelHeadBytes + bytes[at + 24]! + bytes[at + 25]!;
  if (textAt + 2 > bytes.length) return undefined;
  const end = textAt + 2 + bytes.readUInt16LE(textAt) * 2;
  const text = bytes
    .toString('utf16le', textAt + 2, end)
    .replace(/%/g, '')
    // oxlint-disable-next-line eslint/no-control-regex -- numbers of levels
    .replace(/[\0-\x08]/g, (level) => `%${level.charCodeAt(0) + 1}`);
  const isLegal = (bytes[at + 5]! & 4) !== 0;
  return {
    end,
    xml:
      `<lvl w:ilvl="${number}"><start w:val="${bytes.readInt32LE(at)}"/>` +
      `<numFmt w:val="${numberFormats[bytes[at + 4]!] ?? 'decimal'}"/><lvlText w:val="${escaped(text)}"/>` +
      `${isLegal ? '<isLgl/>' : ''}</lvl>`,
  };
}

function escaped(text: string): string {
  return (
    text
      // oxlint-disable-next-line eslint/no-control-regex -- characters that XML has not
      .replace(/[\0-\x1f\ud800-\udfff\ufffe\uffff]/g, '')
      .replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
  );
}
