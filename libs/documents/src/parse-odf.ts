import { type Block, UnreadableDocument } from './block';
import { BlockWriter } from './block-writer';
import { Sheets } from './sheet';
import { wholeNumber } from './whole-number';
import { childElements, descendants, elementAt, parseXml, textOf, type XmlElement } from './xml-tree';
import { Archive, damaged, protectedByPassword } from './zip';

/** Elements that are not document text: tracked changes, comments, forms, sequence declarations and ruby annotations. */
const skipped = new Set(['tracked-changes', 'annotation', 'annotation-end', 'forms', 'sequence-decls', 'ruby-text']);

const mostColumns = 16_384;
const mostRows = 1_048_576;

/** OpenDocument texts, spreadsheets and presentations, detected by their body element. */
export async function parseOdf(bytes: Buffer): Promise<Block[]> {
  const archive = await Archive.open(bytes, { save: 'OpenDocument (.odt, .ods, .odp)' });
  await refuseEncrypted(archive);
  const content = parseXml(await archive.read('content.xml'));
  const shared = archive.has('styles.xml') ? parseXml(await archive.read('styles.xml')) : undefined;
  const styles = new Styles([shared, content].filter((tree) => tree !== undefined));

  const body = childElements(elementAt(content, 'body'))[0];
  if (body?.name === 'text') return new OdfReader(styles).read(body);
  if (body?.name === 'spreadsheet') return readSpreadsheet(body);
  if (body?.name !== 'presentation') throw damaged('it contains no text, spreadsheet or presentation');
  return childElements(body, 'page').flatMap((page, index) =>
    new OdfReader(styles).readSlide(page).map((block) => ({ ...block, pageNumber: index + 1 })),
  );
}

async function refuseEncrypted(archive: Archive): Promise<void> {
  const part = 'META-INF/manifest.xml';
  if (!archive.has(part)) return;
  const manifest = parseXml(await archive.read(part));
  if (descendants(manifest, 'encryption-data').length > 0) throw new UnreadableDocument(protectedByPassword);
}

class Styles {
  private readonly parents = new Map<string, string>();
  private readonly lists = new Map<string, XmlElement>();

  constructor(trees: XmlElement[]) {
    for (const tree of trees) {
      for (const { attributes } of descendants(tree, 'style')) {
        const [name, parent] = [attributes['style:name'], attributes['style:parent-style-name']];
        if (name && parent) this.parents.set(name, parent);
      }
      for (const list of descendants(tree, 'list-style')) this.lists.set(list.attributes['style:name'] ?? '', list);
    }
  }

  is(style: string | undefined, ...names: string[]): boolean {
    const seen = new Set<string>();
    for (let name = style; name && !seen.has(name); name = this.parents.get(name)) {
      if (names.includes(name.replaceAll('_20_', ' '))) return true;
      seen.add(name);
    }
    return false;
  }

  /** First number of a list at a level (from 1); undefined for bullet lists. */
  firstNumber(list: string | undefined, level: number): number | undefined {
    const found = childElements(this.lists.get(list ?? '')).find(
      ({ attributes }) => attributes['text:level'] === String(level),
    );
    if (found?.name !== 'list-level-style-number' || !found.attributes['style:num-format']) return undefined;
    return wholeNumber(found.attributes['text:start-value'], { least: 0, otherwise: 1 });
  }
}

/** OpenDocument reader. Its recursion is bounded by the depth limit of `parseXml`. */
class OdfReader {
  private readonly writer = new BlockWriter();
  private after: XmlElement[] = [];
  private readonly listStyles: (string | undefined)[] = [];
  private readonly numbering = new Map<string, number>();

  constructor(private readonly styles: Styles) {}

  read(body: XmlElement): Block[] {
    this.readAll(body);
    return this.writer.blocks();
  }

  readSlide(page: XmlElement): Block[] {
    const [notes, shapes] = partition(childElements(page), ({ name }) => name === 'notes');
    const [titles, others] = partition(shapes, ({ attributes }) => attributes['presentation:class'] === 'title');
    for (const title of titles) {
      this.writer.heading(
        1,
        descendants(title, 'p')
          .map((p) => this.inlineText(p))
          .join(' '),
      );
    }
    for (const shape of others) this.readElement(shape);
    for (const note of notes) {
      const isText = ({ attributes }: XmlElement) => attributes['presentation:class'] === 'notes';
      for (const frame of childElements(note, 'frame').filter(isText)) this.readElement(frame);
    }
    return this.writer.blocks();
  }

  private readAll(parent: XmlElement): void {
    const children = childElements(parent);
    for (let start = 0; start < children.length;) {
      const first = children[start]!;
      const kind = this.kindOf(first);
      let end = start + 1;
      while (kind && end < children.length && this.kindOf(children[end]!) === kind) end++;
      const run = children.slice(start, end);
      if (!kind) this.readElement(first);
      else if (kind === 'list') this.readLists(run);
      else this.writeMarked(kind, run);
      start = end;
    }
  }

  /** Adjacent elements of one kind become one code, quote or list block. */
  private kindOf(element: XmlElement): 'list' | MarkedType | undefined {
    return element.name === 'list' ? 'list' : this.markedType(element);
  }

  private markedType({ name, attributes }: XmlElement): MarkedType | undefined {
    if (name !== 'p') return undefined;
    if (this.styles.is(attributes['text:style-name'], 'Preformatted Text')) return 'code';
    return this.styles.is(attributes['text:style-name'], 'Quotations') ? 'blockquote' : undefined;
  }

  private writeMarked(type: MarkedType, paragraphs: XmlElement[]): void {
    const text = paragraphs.map((paragraph) => this.inlineText(paragraph)).join('\n');
    this.writer.write({ type, text });
    this.readAfter();
  }

  private readElement(element: XmlElement): void {
    if (skipped.has(element.name)) return;
    switch (element.name) {
      case 'h':
        return this.readHeading(
          element,
          wholeNumber(element.attributes['text:outline-level'], { least: 1, most: 6, otherwise: 1 }),
        );
      case 'p':
        return this.readParagraph(element);
      case 'table':
        return this.readTable(element);
      default:
        this.readAll(element);
    }
  }

  private readHeading(element: XmlElement, level: number): void {
    this.writer.heading(level, this.inlineText(element).replace(/\s+/g, ' '));
    this.readAfter();
  }

  private readParagraph(element: XmlElement): void {
    const style = element.attributes['text:style-name'];
    if (this.styles.is(style, 'Title')) return this.readHeading(element, 1);
    if (this.styles.is(style, 'Subtitle')) return this.readHeading(element, 2);
    this.writer.write({ type: 'paragraph', text: this.inlineText(element) });
    this.readAfter();
  }

  /** Adjacent lists become one block: Impress writes one list per item. */
  private readLists(lists: XmlElement[]): void {
    this.writer.enter({ type: 'list' });
    for (const list of lists) this.readItems(list);
    this.writer.leave();
  }

  /** Nested lists inherit the list style. Lists marked as continued go on counting. */
  private readItems(list: XmlElement): void {
    const style = list.attributes['text:style-name'] ?? this.listStyles.at(-1);
    this.listStyles.push(style);
    const level = this.listStyles.length;
    const counter = `${style} ${level}`;
    const first = this.styles.firstNumber(style, level);
    const { 'text:continue-numbering': continues, 'text:continue-list': continued } = list.attributes;
    let number = (continues === 'true' || continued ? this.numbering.get(counter) : undefined) ?? first ?? 1;
    for (const item of childElements(list)) {
      number = wholeNumber(item.attributes['text:start-value'], { least: 0, otherwise: number });
      const isMarked = item.name === 'list-item' && childElements(item)[0]?.name !== 'list';
      this.writer.enter({ type: 'item', marker: isMarked ? (first === undefined ? '- ' : `${number}. `) : undefined });
      this.readAll(item);
      this.writer.leave();
      if (isMarked) number++;
    }
    this.numbering.set(counter, number);
    this.listStyles.pop();
  }

  private readTable(table: XmlElement): void {
    const header = descendants(table, 'table-header-rows').flatMap((rows) => descendants(rows, 'table-row'));
    const rows = descendants(table, 'table-row').map((row) =>
      childElements(row)
        .filter(({ name }) => name === 'table-cell' || name === 'covered-table-cell')
        .map((cell) => this.cellText(cell)),
    );
    const isFirstHeader = table.attributes['table:use-first-row-styles'] === 'true';
    this.writer.table(rows, header.length || Number(isFirstHeader));
    this.readAfter();
  }

  private cellText(cell: XmlElement): string {
    return paragraphsIn(cell)
      .map((paragraph) => this.inlineText(paragraph))
      .join(' ');
  }

  private readAfter(): void {
    const after = this.after;
    this.after = [];
    for (const element of after) {
      if (element.name === 'note') this.readNote(element);
      else this.readAll(element);
    }
  }

  private readNote(note: XmlElement): void {
    const [first, ...rest] = descendants(elementAt(note, 'note-body') ?? note, 'p');
    const text = first ? this.inlineText(first) : '';
    this.writer.write({ type: 'paragraph', text: `${citation(note)} ${text}`.trim() });
    this.readAfter();
    for (const paragraph of rest) this.readElement(paragraph);
  }

  private inlineText(element: XmlElement): string {
    const parts: string[] = [];
    this.addInline(element, parts);
    return parts.join('').trim();
  }

  private addInline(element: XmlElement, parts: string[]): void {
    for (const child of element.children) {
      if (typeof child === 'string') parts.push(child.replace(/[ \t\r\n]+/g, ' '));
      else if (skipped.has(child.name)) continue;
      else if (child.name === 's')
        parts.push(' '.repeat(wholeNumber(child.attributes['text:c'], { least: 0, most: 1000, otherwise: 1 })));
      else if (child.name === 'tab') parts.push('\t');
      else if (child.name === 'line-break') parts.push('\n');
      else if (child.name === 'note') {
        parts.push(citation(child));
        this.after.push(child);
      } else if (child.name === 'frame' || child.name === 'custom-shape' || child.name === 'g') this.after.push(child);
      else this.addInline(child, parts);
    }
  }
}

type MarkedType = 'code' | 'blockquote';

function citation(note: XmlElement): string {
  return `[${textOf(elementAt(note, 'note-citation') ?? { name: '', attributes: {}, children: ['*'] })}]`;
}

/** Paragraphs and headings at any depth in document order, without descending into them. */
function paragraphsIn(element: XmlElement): XmlElement[] {
  return childElements(element).flatMap((child) => {
    if (skipped.has(child.name)) return [];
    return child.name === 'p' || child.name === 'h' ? [child] : paragraphsIn(child);
  });
}

function partition<T>(all: T[], isFirst: (one: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((one) => !isFirst(one))];
}

/** Spreadsheet reader. Rows and cells have repeat counts: LibreOffice fills the sheet with a million empty rows. */
function readSpreadsheet(body: XmlElement): Block[] {
  const sheets = new Sheets();
  for (const table of childElements(body, 'table')) {
    sheets.startSheet(table.attributes['table:name'] ?? '');
    let number = 1;
    for (const row of descendants(table, 'table-row')) {
      const times = repetitions(row, 'table:number-rows-repeated');
      sheets.addRow(number, readCells(row), times);
      number += times;
    }
  }
  return sheets.blocks();
}

function readCells(row: XmlElement): Map<number, string> {
  const cells = new Map<number, string>();
  let column = 0;
  for (const cell of childElements(row)) {
    const times = repetitions(cell, 'table:number-columns-repeated');
    const text = sheetText(cell);
    const end = Math.min(column + times, mostColumns);
    if (text !== '') for (let i = column; i < end; i++) cells.set(i, text);
    column = end;
  }
  return cells;
}

function repetitions({ attributes }: XmlElement, name: string): number {
  return wholeNumber(attributes[name], { least: 1, most: mostRows, otherwise: 1 });
}

function sheetText(cell: XmlElement): string {
  const { attributes } = cell;
  const date = attributes['office:date-value'];
  if (date) return date.replace(/T00:00:00(?:\.0+)?$/, '');
  if (attributes['office:value-type'] === 'float') return attributes['office:value'] ?? '';
  return paragraphsIn(cell).map(plainText).join(' ').trim();
}

function plainText(element: XmlElement): string {
  return element.children
    .map((child) => {
      if (typeof child === 'string') return child.replace(/[ \t\r\n]+/g, ' ');
      return child.name === 's' || child.name === 'tab' || child.name === 'line-break' ? ' ' : plainText(child);
    })
    .join('');
}
