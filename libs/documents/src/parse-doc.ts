import type { Block } from './block';
import { commentBlock } from './office-comments';
import { parseText } from './parse-text';
import { type CharacterRun, codesIn, type Story, type TableName, WordBinary } from './word-binary';
import { numberingPart, stylesXml } from './word-binary-styles';
import { WordNumbering } from './word-numbering';
import { type WordContext, WordReader } from './word-reader';
import { WordStyles } from './word-styles';
import type { XmlElement } from './xml-tree';

const property = {
  style: 0x4600,
  level: 0x260a,
  list: 0x460b,
  inTable: 0x2416,
  rowEnd: 0x2417,
  innerCell: 0x244b,
  innerRow: 0x244c,
  depth: 0x6649,
  header: 0x3404,
};
/** Marks of ends, notes, fields and drawings, and the sign that stands for a symbol. */
// oxlint-disable-next-line eslint/no-control-regex -- marks of the format
const marks = /[\x01-\x08\x0b-\x0d\x13-\x15\x1e\x1f(]/g;
// oxlint-disable-next-line eslint/no-control-regex -- marks of the format
const ends = /[\x07\r\f\v]/g;
const deepestTable = 20;
const cellMark = '\x07';
/** Separators of notes, before the headers and footers of the first section. */
const separators = 6;
const marginsOfSection = 6;
/** Headers and footers of a section: of even and odd pages, then of the first. */
const headers = new Set([0, 1, 4]);
const noteReferences: [TableName, string][] = [
  ['footnoteRefs', 'footnote'],
  ['endnoteRefs', 'endnote'],
];

/**
 * Word documents of Word 97 to 2003 (.doc). Their paragraphs become the elements that a .docx has, so that both have the
 * same content: headers, body, notes, text boxes, footers, comments.
 */
export function parseDoc(bytes: Buffer): Block[] {
  return new DocumentReader(new WordBinary(bytes)).read();
}

/** The text without its structure. */
export function docText(bytes: Buffer): Iterable<Block> {
  const document = new WordBinary(bytes);
  const texts: string[] = [];
  for (const { text } of document.runs(0, document.story('boxes').end)) texts.push(text.replace(ends, '\n'));
  return parseText(texts);
}

class DocumentReader {
  private readonly context: WordContext;
  private readonly references: ReadonlyMap<number, string>;

  constructor(private readonly document: WordBinary) {
    const styles = new WordStyles(stylesXml(document));
    this.references = referencesIn(document);
    const keys = new Set(this.references.values());
    const numbering = new WordNumbering(numberingPart(document), styles);
    this.context = { styles, numbering, embedded: new Map(), hasNote: (key) => keys.has(key) };
  }

  read(): Block[] {
    const { document, context } = this;
    const body = new WordReader(context);
    const { start, end } = document.story('body');
    for (const element of this.elements(start, end)) body.readAll(container([element]));
    body.readNotes(new Map([...this.notes('footnotes'), ...this.notes('endnotes')]));
    const boxes = new WordReader(context);
    const { start: boxStart, end: boxEnd } = document.story('boxes');
    for (const element of this.elements(boxStart, boxEnd)) boxes.readAll(container([element]));
    const { above, below } = this.margins();
    return [...above, ...body.blocks(), ...boxes.blocks(), ...below, ...this.comments()];
  }

  private notes(story: 'footnotes' | 'endnotes'): [string, XmlElement][] {
    const [name, texts]: [string, TableName] =
      story === 'footnotes' ? ['footnote', 'footnoteTexts'] : ['endnote', 'endnoteTexts'];
    return this.rangesOf(story, texts).map(({ start, end }, index) => [
      `${name} ${index}`,
      container([...this.elements(start, end)]),
    ]);
  }

  /** Ranges of notes or comments, within their part of the text. */
  private rangesOf(story: Story, texts: TableName): { start: number; end: number }[] {
    const { start, end } = this.document.story(story);
    const positions = numbersIn(this.document.table(texts)).map((position) => Math.min(end, start + position));
    // Behind the last one is a paragraph of its own.
    return positions.slice(0, -2).map((from, index) => ({ start: from, end: Math.max(from, positions[index + 1]!) }));
  }

  private margins(): { above: Block[]; below: Block[] } {
    const found: { above: Block[]; below: Block[] } = { above: [], below: [] };
    const seen = new Set<string>();
    const { start, end } = this.document.story('headers');
    const positions = numbersIn(this.document.table('headers')).map((position) => Math.min(end, start + position));
    for (let i = separators; i + 1 < positions.length; i++) {
      if (positions[i + 1]! <= positions[i]!) continue;
      const numbering = new WordNumbering(undefined, this.context.styles);
      const reader = new WordReader({ ...this.context, numbering, hasNote: () => false }, { pageNumbers: false });
      for (const element of this.elements(positions[i]!, positions[i + 1]!)) reader.readAll(container([element]));
      const all = headers.has((i - separators) % marginsOfSection) ? found.above : found.below;
      for (const block of reader.blocks()) {
        if (seen.has(block.text)) continue;
        seen.add(block.text);
        all.push(block.level ? { type: 'paragraph', text: block.text } : block);
      }
    }
    return found;
  }

  private comments(): Block[] {
    const references = this.document.table('commentRefs');
    const ranges = this.rangesOf('comments', 'commentTexts');
    const authors = stringsIn(this.document.table('commentAuthors'));
    const blocks = ranges.map(({ start, end }, index) => {
      const reader = new WordReader({ ...this.context, hasNote: () => false });
      for (const element of this.elements(start, end)) reader.readAll(container([element]));
      const text = reader.blocks().map((block) => block.text);
      // A position for each comment and one more, then 30 bytes for each.
      const at = 4 * (ranges.length + 1) + 30 * index + 20;
      const author = at + 2 <= references.length ? authors[references.readUInt16LE(at)] : undefined;
      return commentBlock({ author, text: text.join('\n') });
    });
    return blocks.filter(({ text }) => text !== '');
  }

  /** Paragraphs and tables of a range. */
  private *elements(start: number, end: number): Generator<XmlElement> {
    const tables = new TableBuilder();
    for (const { element, mark } of this.paragraphs(start, end)) {
      if (tables.add(element, mark)) continue;
      yield* tables.take();
      yield element;
    }
    yield* tables.take();
  }

  private *paragraphs(start: number, end: number): Generator<{ element: XmlElement; mark: ParagraphMark }> {
    let children: XmlElement[] = [];
    const paragraph = (position: number, character: string) => {
      const mark = markOf(this.document.paragraph(position), character);
      const element: XmlElement = { name: 'p', attributes: {}, children: [mark.properties, ...children] };
      children = [];
      return { element, mark };
    };
    for (const run of this.document.runs(start, end)) {
      let from = 0;
      for (const { 0: character, index } of run.text.matchAll(marks)) {
        const isEnd = character === '\r' || character === '\f' || character === cellMark;
        const element = isEnd ? undefined : this.special(character, run, index);
        if (element === undefined && !isEnd) continue;
        addText(children, run, run.text.slice(from, index));
        from = index + 1;
        if (element) children.push(element);
        if (isEnd) yield paragraph(run.start + index, character);
      }
      addText(children, run, run.text.slice(from));
    }
    if (children.length > 0) yield paragraph(end - 1, '');
  }

  /** Undefined for characters that are text; an empty element for those that show nothing. */
  private special(character: string, run: CharacterRun, index: number): XmlElement | undefined {
    if (run.isHidden) return character === '(' ? undefined : nothing;
    switch (character) {
      case '\x02': {
        const [name, id] = this.references.get(run.start + index)?.split(' ') ?? [];
        return name ? leaf(`${name}Reference`, { id: id! }) : nothing;
      }
      case '\x0b':
        return leaf('br', {});
      case '\x13':
        return leaf('fldChar', { fldCharType: 'begin' });
      case '\x14':
        return leaf('fldChar', { fldCharType: 'separate' });
      case '\x15':
        return leaf('fldChar', { fldCharType: 'end' });
      case '\x1e':
        return leaf('noBreakHyphen', {});
      case '(':
        if (!run.isSpecial || !run.symbol) return undefined;
        return leaf('sym', {
          font: run.symbol.font,
          char: run.symbol.code.toString(16).toUpperCase().padStart(4, '0'),
        });
      default:
        return nothing;
    }
  }
}

const nothing: XmlElement = { name: 'lastRenderedPageBreak', attributes: {}, children: [] };

interface ParagraphMark {
  properties: XmlElement;
  /** Tables around the paragraph. */
  depth: number;
  endsCell: boolean;
  endsRow: boolean;
  isHeader: boolean;
}

function markOf(bytes: Buffer, character: string): ParagraphMark {
  let style = bytes.length >= 2 ? bytes.readUInt16LE(0) : 0;
  let [list, level, depth]: (number | undefined)[] = [];
  let [inTable, rowEnd, innerCell, innerRow, isHeader] = [false, false, false, false, false];
  for (const { code, operand } of codesIn(bytes.subarray(2))) {
    const isOn = operand[0] !== 0;
    if (code === property.style) style = operand.readUInt16LE(0);
    else if (code === property.level) level = operand[0];
    else if (code === property.list) list = operand.readInt16LE(0);
    else if (code === property.depth) depth = operand.readInt32LE(0);
    else if (code === property.inTable) inTable = isOn;
    else if (code === property.rowEnd) rowEnd = isOn;
    else if (code === property.innerCell) innerCell = isOn;
    else if (code === property.innerRow) innerRow = isOn;
    else if (code === property.header) isHeader = isOn;
  }
  const numbering: XmlElement[] = [];
  if (level !== undefined) numbering.push(leaf('ilvl', { val: String(level) }));
  if (list !== undefined) numbering.push(leaf('numId', { val: String(list) }));
  const properties = [leaf('pStyle', { val: String(style) })];
  if (numbering.length > 0) properties.push({ name: 'numPr', attributes: {}, children: numbering });
  return {
    properties: { name: 'pPr', attributes: {}, children: properties },
    depth: Math.min(deepestTable, Math.max(0, inTable ? (depth ?? 1) : 0)),
    endsCell: character === cellMark ? !rowEnd : innerCell,
    endsRow: character === cellMark ? rowEnd : innerRow,
    isHeader,
  };
}

interface OpenTable {
  rows: XmlElement[];
  cells: XmlElement[];
  content: XmlElement[];
}

/** Tables from the marks of their paragraphs. */
class TableBuilder {
  private readonly open: OpenTable[] = [];
  private done: XmlElement[] = [];

  /** False for a paragraph that is in no table. */
  add(paragraph: XmlElement, { depth, endsCell, endsRow, isHeader }: ParagraphMark): boolean {
    while (this.open.length > depth) this.close();
    if (depth === 0) return false;
    while (this.open.length < depth) this.open.push({ rows: [], cells: [], content: [] });
    const table = this.open.at(-1)!;
    if (endsRow) {
      const properties = { name: 'trPr', attributes: {}, children: isHeader ? [leaf('tblHeader', {})] : [] };
      table.rows.push({ name: 'tr', attributes: {}, children: [properties, ...table.cells] });
      table.cells = [];
      table.content = [];
      return true;
    }
    table.content.push(paragraph);
    if (endsCell) table.cells.push({ name: 'tc', attributes: {}, children: table.content.splice(0) });
    return true;
  }

  take(): XmlElement[] {
    while (this.open.length > 0) this.close();
    return this.done.splice(0);
  }

  private close(): void {
    const { rows, cells, content } = this.open.pop()!;
    if (content.length > 0) cells.push({ name: 'tc', attributes: {}, children: content });
    if (cells.length > 0) rows.push({ name: 'tr', attributes: {}, children: cells });
    const table: XmlElement = { name: 'tbl', attributes: {}, children: rows };
    const around = this.open.at(-1);
    if (around) around.content.push(table);
    else this.done.push(table);
  }
}

function addText(children: XmlElement[], { isHidden }: CharacterRun, text: string): void {
  if (text === '' || isHidden) return;
  const { name, attributes } = children.findLast((child) => child.name === 'fldChar') ?? nothing;
  const isInstruction = name === 'fldChar' && attributes['fldCharType'] === 'begin';
  children.push({ name: isInstruction ? 'instrText' : 't', attributes: {}, children: [text] });
}

function leaf(name: string, attributes: { [name: string]: string }): XmlElement {
  return { name, attributes, children: [] };
}

function container(children: XmlElement[]): XmlElement {
  return { name: 'body', attributes: {}, children };
}

/** Keys of notes by the positions of their references. */
function referencesIn(document: WordBinary): Map<number, string> {
  const references = new Map<number, string>();
  for (const [table, name] of noteReferences) {
    const bytes = document.table(table);
    // A position for each and one more, then two bytes for each.
    const count = Math.floor((bytes.length - 4) / 6);
    for (let i = 0; i < count; i++) references.set(bytes.readUInt32LE(4 * i), `${name} ${i}`);
  }
  return references;
}

function numbersIn(bytes: Buffer): number[] {
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, index) => bytes.readUInt32LE(4 * index));
}

function stringsIn(bytes: Buffer): string[] {
  const strings: string[] = [];
  for (let at = 0; at + 2 <= bytes.length;) {
    const end = at + 2 + bytes.readUInt16LE(at) * 2;
    strings.push(bytes.toString('utf16le', at + 2, end));
    at = end;
  }
  return strings;
}
