import type { Block, Source } from './block';
import { charsetIn, charsetInPage, decodeText } from './decode-text';
import { parseText } from './parse-text';
import { scanXml } from './xml-tree';
import { Archive } from './zip';

/** Elements of HTML within a line. All others end it. */
const inLine = new Set(
  'a abbr b bdi bdo big cite code data dfn em font i ins kbd mark q s samp small span strong sub sup time tt u var wbr'.split(
    ' ',
  ),
);
const notText = /^(?:script|style)$/;
const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0' };

/** Text of HTML or XML without regard to its structure, in linear time. */
export function markupText(markup: string): Iterable<Block> {
  const parts: string[] = [];
  const tag = /<(?=[a-z/!?])/gi;
  let at = 0;
  for (let found = tag.exec(markup); found; found = tag.exec(markup)) {
    parts.push(decoded(markup.slice(at, found.index)));
    at = endOfTag(markup, found.index, parts);
    tag.lastIndex = at;
  }
  parts.push(decoded(markup.slice(at)));
  return parseText([parts.join('')]);
}

export function pageText({ bytes, contentType }: Source): Iterable<Block> {
  return markupText(decodeText(bytes, charsetIn(contentType) ?? charsetInPage(bytes)));
}

/** Index after the tag, or after an element that has no text. */
function endOfTag(markup: string, start: number, parts: string[]): number {
  if (markup.startsWith('<!--', start)) return after(markup, '-->', start);
  if (markup.startsWith('<![CDATA[', start)) {
    const end = after(markup, ']]>', start);
    parts.push(markup.slice(start + '<![CDATA['.length, end).replace(/\]\]>$/, ''));
    return end;
  }
  const end = after(markup, '>', start);
  const [, closing, name = ''] = /^<(\/?)([\w:-]*)/.exec(markup.slice(start, start + 40))!;
  if (!inLine.has(name.toLowerCase())) parts.push('\n');
  const isEmpty = markup.endsWith('/>', end);
  if (closing || isEmpty || !notText.test(name.toLowerCase())) return end;
  const closingTag = new RegExp(`</${name}`, 'gi');
  closingTag.lastIndex = end;
  return closingTag.exec(markup)?.index ?? markup.length;
}

function after(text: string, end: string, from: number): number {
  const found = text.indexOf(end, from);
  return found === -1 ? text.length : found + end.length;
}

function decoded(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{1,8}));/gi, (written, decimal, hex, name: string) => {
    const code = decimal ? Number(decimal) : Number.parseInt(hex as string, 16);
    if (name) return entities[name.toLowerCase()] ?? written;
    return code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}

/** Names of the entries of an archive that have text, and the elements that hold it; all when absent. */
export interface TextParts {
  save: string;
  parts: RegExp;
  elements?: string;
}

/** Texts of the XML in an archive, one line for each paragraph, in the order of the names of the entries. */
export async function* archiveText(bytes: Buffer, { save, parts, elements }: TextParts): AsyncGenerator<Block> {
  const archive = await Archive.open(bytes, { save });
  const names = archive.names().filter((name) => parts.test(name));
  for (const name of names.toSorted(inNaturalOrder)) yield* xmlText(await archive.read(name), elements);
}

/** Pages of a book, in the order of their names. */
export async function* bookText(bytes: Buffer): AsyncGenerator<Block> {
  const archive = await Archive.open(bytes, { save: 'EPUB' });
  const names = archive.names().filter((name) => /\.x?html?$/i.test(name));
  for (const name of names.toSorted(inNaturalOrder)) {
    const page = await archive.read(name);
    yield* markupText(decodeText(page, charsetInPage(page)));
  }
}

const { compare: inNaturalOrder } = new Intl.Collator('en', { numeric: true });
const paragraphs = new Set(['p', 'h', 'si', 'br', 'line-break']);

function xmlText(part: Buffer, elements: string | undefined): Iterable<Block> {
  const texts: string[] = [];
  let depth = 0;
  scanXml(part, {
    open: (name) => {
      if (name === elements) depth++;
      else if (name === 'tab' || name === 's') texts.push(' ');
    },
    text: (text) => {
      if (!elements || depth > 0) texts.push(text.replace(/\s+/g, ' '));
    },
    close: (name) => {
      if (name === elements) depth--;
      if (paragraphs.has(name)) texts.push('\n');
    },
  });
  return parseText([texts.join('')]);
}
