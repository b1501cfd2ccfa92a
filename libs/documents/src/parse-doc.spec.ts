import { compoundFileOf } from './test/compound-file-of';
import { encodedAs } from './test/encoded-as';
import { docText, parseDoc } from './parse-doc';

const textAt = 0x400;

interface Piece {
  bytes: Buffer;
  isWide?: boolean;
}

interface Document {
  pieces: Piece[];
  /** Properties of all characters. */
  characters?: Buffer;
  /** Charsets of the fonts. */
  fonts?: number[];
}

/** Word document of pieces of text without styles. Properties of characters are in a page behind the text. */
function wordDocument({ pieces, characters = Buffer.alloc(0), fonts = [] }: Document): Buffer {
  const text = Buffer.concat(pieces.map(({ bytes }) => bytes));
  const pageNumber = Math.ceil((textAt + text.length) / 512);
  const stream = Buffer.alloc((pageNumber + 1) * 512);
  text.copy(stream, textAt);
  const page = stream.subarray(pageNumber * 512);
  page.writeUInt32LE(textAt, 0);
  page.writeUInt32LE(textAt + text.length, 4);
  page[8] = 100;
  page[200] = characters.length;
  characters.copy(page, 201);
  page[511] = 1;

  const positions = [0];
  for (const { bytes, isWide } of pieces) positions.push(positions.at(-1)! + bytes.length / (isWide ? 2 : 1));
  let at = textAt;
  const places = pieces.map(({ bytes, isWide }) => {
    const place = Buffer.alloc(8);
    place.writeUInt32LE(isWide ? at : at * 2 + 0x4000_0000, 2);
    at += bytes.length;
    return place;
  });
  const list = Buffer.concat([longs(...positions), ...places]);
  const tables = [
    { index: 33, content: Buffer.concat([Buffer.from([2]), longs(list.length), list]) },
    { index: 12, content: longs(textAt, textAt + text.length, pageNumber) },
    { index: 15, content: Buffer.concat([Buffer.alloc(4), ...fonts.map(fontOf)]) },
  ];
  stream.writeUInt16LE(0xc1, 2);
  stream.writeUInt32LE(positions.at(-1)!, 76);
  let tableAt = 0;
  for (const { index, content } of tables) {
    stream.writeUInt32LE(tableAt, 154 + 8 * index);
    stream.writeUInt32LE(content.length, 158 + 8 * index);
    tableAt += content.length;
  }
  return compoundFileOf({ WordDocument: stream, '0Table': Buffer.concat(tables.map(({ content }) => content)) });
}

function longs(...values: number[]): Buffer {
  return Buffer.from(new Uint32Array(values).buffer);
}

function fontOf(charset: number): Buffer {
  const font = Buffer.alloc(44);
  font[0] = 43;
  font[4] = charset;
  font.write('A', 40, 'utf16le');
  return font;
}

const plain = (text: string): Piece => ({ bytes: Buffer.from(text, 'latin1') });
const textsOf = (document: Document) => parseDoc(wordDocument(document)).map(({ text }) => text);

it('reads pieces of one and of two bytes for a character', () => {
  const wide = { bytes: Buffer.from('Żółw.\r', 'utf16le'), isWide: true };

  expect(textsOf({ pieces: [plain('A \x93naïve\x94 caf\xe9 '), wide] })).toEqual(['A “naïve” café Żółw.']);
});

it.each([
  [204, 'windows-1251', 'Причал закрыт'],
  [238, 'windows-1250', 'Zażółć gęślą'],
  [161, 'windows-1253', 'Λιμάνι'],
  [162, 'windows-1254', 'İskele kapalı'],
])('reads characters of one byte in the code page of their font (%i)', (charset, encoding, text) => {
  const bytes = encodedAs(encoding, `${text}\r`);
  const characters = Buffer.from('4f4a0100', 'hex');

  expect(textsOf({ pieces: [{ bytes }], characters, fonts: [0, charset] })).toEqual([text]);
});

it('leaves out hidden and deleted text', () => {
  expect(textsOf({ pieces: [plain('no\r')], characters: Buffer.from('3c0801', 'hex') })).toEqual([]);
  expect(textsOf({ pieces: [plain('no\r')], characters: Buffer.from('000801', 'hex') })).toEqual([]);
});

it('shows the results of fields, and not their instructions', () => {
  const link = '\x13 HYPERLINK "https://example.org" \x14the pilots\x15';

  expect(textsOf({ pieces: [plain(`Call ${link}\x0btoday\x1e.\r`)] })).toEqual(['Call the pilots\ntoday\u2011.']);
});

it('refuses pieces that overlap', () => {
  const many = Array.from({ length: 9 }, () => plain('text\r'));
  const bytes = wordDocument({ pieces: many });
  // All of them have the whole text.
  const start = bytes.indexOf(longs(0, 5, 10));
  for (let i = 0; i < 10; i++) bytes.writeUInt32LE(i * 2_000, start + 4 * i);

  expect(() => parseDoc(bytes)).toThrow(/overlap/);
});

it('reads the text alone where its structure cannot be read', () => {
  const texts = [...docText(wordDocument({ pieces: [plain('One\rTwo\x07')] }))].map(({ text }) => text);

  expect(texts.join('\n')).toBe('One\nTwo');
});
