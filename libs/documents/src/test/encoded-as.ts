import { TextDecoder } from 'node:util';

const tables = new Map<string, Map<string, number[]>>();

/** Text in an encoding that TextDecoder knows, by its tables read backwards. Throws for characters that it lacks. */
export function encodedAs(encoding: string, text: string): Buffer {
  if (encoding === 'utf-16le') return Buffer.from(text, 'utf16le');
  if (encoding === 'utf-16be') return Buffer.from(text, 'utf16le').swap16();
  if (encoding.startsWith('utf-32')) return utf32(text, encoding.endsWith('le'));
  if (encoding === 'iso-2022-jp') return iso2022Jp(text);
  return Buffer.concat([...text].map((character) => Buffer.from(bytesOf(encoding, character))));
}

function bytesOf(encoding: string, character: string): number[] {
  const bytes = tableOf(encoding).get(character);
  if (!bytes) throw new Error(`${encoding} has no ${character}`);
  return bytes;
}

function tableOf(encoding: string): Map<string, number[]> {
  const known = tables.get(encoding);
  if (known) return known;
  const table = new Map<string, number[]>();
  const decoder = new TextDecoder(encoding);
  const add = (...bytes: number[]) => {
    const [character = '', more] = decoder.decode(new Uint8Array(bytes));
    if (character !== '\uFFFD' && !more && !table.has(character)) table.set(character, bytes);
  };
  for (let byte = 0; byte < 256; byte++) add(byte);
  if (/^(?:gb|big5|euc|shift)/.test(encoding)) {
    for (let lead = 0x81; lead < 0xff; lead++) for (let trail = 0x40; trail < 0xff; trail++) add(lead, trail);
  }
  tables.set(encoding, table);
  return table;
}

function utf32(text: string, isLittle: boolean): Buffer {
  const bytes = Buffer.alloc([...text].length * 4);
  for (const [i, character] of [...text].entries()) {
    if (isLittle) bytes.writeUInt32LE(character.codePointAt(0)!, i * 4);
    else bytes.writeUInt32BE(character.codePointAt(0)!, i * 4);
  }
  return bytes;
}

function iso2022Jp(text: string): Buffer {
  const parts = text.split(/([^\0-\x7f]+)/).map((part, i) => {
    const bytes = encodedAs('euc-jp', part);
    if (i % 2 === 0) return bytes;
    return Buffer.concat([Buffer.from('\x1b$B'), bytes.map((byte) => byte & 0x7f), Buffer.from('\x1b(B')]);
  });
  return Buffer.concat(parts);
}
