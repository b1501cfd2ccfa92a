import { type Block, type OnReading, UnreadableDocument } from './block';
import { BlockWriter } from './block-writer';
import { listNumber } from './list-number';
import { commentBlock, quoted } from './office-comments';
import { generalNumber } from './excel-number';
import { Sheets } from './sheet';
import { wholeNumber } from './whole-number';
import { childElements, descendants, elementAt, parseXml, textOf, type XmlElement } from './xml-tree';
import { Archive, damaged, protectedByPassword } from './zip';

/** Elements that are not document text: tracked changes, comments, forms, declarations, ruby text, numbers of pages. */
const skipped = new Set([
  'tracked-changes',
  'annotation',
  'annotation-end',
  'forms',
  'sequence-decls',
  'ruby-text',
  'page-number',
  'page-count',
]);

/** Number formats by the names that Word gives them. */
const formats = new Map([
  ['1', 'decimal'],
  ['a', 'lowerLetter'],
  ['A', 'upperLetter'],
  ['i', 'lowerRoman'],
  ['I', 'upperRoman'],
]);
/** Frames of notes that a program fills in. */
const filledIn = new Set(['page', 'header', 'footer', 'date-time', 'page-number']);
/** In place of the name of a list style: the numbers of headings. */
const outline = Symbol('outline');
const deepestHeading = 6;
const longestQuote = 250;

const mostColumns = 16_384;
const mostRows = 1_048_576;

/** OpenDocument texts, spreadsheets and presentations, detected by their body element. */
export async function parseOdf(bytes: Buffer, onReading?: OnReading): Promise<Block[]> {
  const archive = await Archive.open(bytes, { save: 'OpenDocument (.odt, .ods, .odp)' });
  await refuseEncrypted(archive);
  const content = parseXml(await archive.read('content.xml'), onReading);
  const shared = archive.has('styles.xml') ? parseXml(await archive.read('styles.xml')) : undefined;
  const styles = new Styles([shared, content].filter((tree) => tree !== undefined));

  const body = childElements(elementAt(content, 'body'))[0];
  const context = { styles, objects: body ? await chartsIn(archive, body, styles) : new Map<string, Block[]>() };
  if (body?.name === 'text') return readText(body, shared, context);
  if (body?.name === 'spreadsheet') return readSpreadsheet(body, context);
  if (body?.name !== 'presentation') throw damaged('it contains no text, spreadsheet or presentation');
  return childElements(body, 'page').flatMap((page, index) =>
    new OdfReader(context).readSlide(page).map((block) => ({ ...block, pageNumber: index + 1 })),
  );
}

interface Context {
  styles: Styles;
  /** Charts by their references. */
  objects: ReadonlyMap<string, Block[]>;
}

/** Headers come first and footers last; those that several kinds of pages have are read once. */
function readText(body: XmlElement, shared: XmlElement | undefined, context: Context): Block[] {
  const seen = new Set<string>();
  const margins = (kind: RegExp) =>
    (shared ? descendants(shared, 'master-page') : [])
      .flatMap((page) => childElements(page).filter(({ name }) => kind.test(name)))
      .flatMap((margin) => new OdfReader(context).read(margin))
      .filter(({ text }) => !seen.has(text) && seen.add(text));
  const headers = margins(/^header(?:-left|-first)?$/);
  return [...headers, ...new OdfReader(context).read(body), ...margins(/^footer(?:-left|-first)?$/)];
}

/** Charts that a document embeds: their titles, and their data as a table. */
async function chartsIn(archive: Archive, body: XmlElement, styles: Styles): Promise<Map<string, Block[]>> {
  const charts = new Map<string, Block[]>();
  for (const object of descendants(body, 'object')) {
    const reference = object.attributes['xlink:href'] ?? '';
    const part = `${reference.replace(/^\.\//, '')}/content.xml`;
    if (charts.has(reference) || !archive.has(part)) continue;
    const chart = elementAt(parseXml(await archive.read(part)), 'body', 'chart');
    if (chart) charts.set(reference, new OdfReader({ styles, objects: new Map() }).read(chart));
  }
  return charts;
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
  private outline: XmlElement | undefined;

  constructor(trees: XmlElement[]) {
    for (const tree of trees) {
      for (const { attributes } of descendants(tree, 'style')) {
        const [name, parent] = [attributes['style:name'], attributes['style:parent-style-name']];
        if (name && parent) this.parents.set(name, parent);
      }
      this.outline ??= descendants(tree, 'outline-style')[0];
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

  /** Level (from 1) of a list style or of the outline; undefined for levels without numbers. */
  levelOf(list: string | typeof outline | undefined, level: number): ListLevel | undefined {
    const found = childElements(list === outline ? this.outline : this.lists.get(list ?? '')).find(
      ({ attributes }) => attributes['text:level'] === String(level),
    );
    const format = found?.attributes['style:num-format'];
    if (!found || found.name === 'list-level-style-bullet' || !format) return undefined;
    const { 'style:num-prefix': prefix, 'style:num-suffix': suffix, 'text:start-value': start } = found.attributes;
    return {
      start: wholeNumber(start, { least: 0, otherwise: 1 }),
      format: formats.get(format) ?? 'decimal',
      prefix: prefix ?? '',
      suffix: suffix ?? (prefix === undefined && list !== outline ? '.' : ''),
      shownLevels: wholeNumber(found.attributes['text:display-levels'], { least: 1, most: level, otherwise: 1 }),
    };
  }
}

interface ListLevel {
  start: number;
  format: string;
  prefix: string;
  suffix: string;
  /** Levels whose numbers are shown, this one included. */
  shownLevels: number;
}

interface ItemNumber {
  number: number;
  format: string;
}

/** Number of a heading or an item as printed: those of the levels above it that are shown, and what is around them. */
function printed({ prefix, suffix, shownLevels }: ListLevel, numbers: (ItemNumber | undefined)[]): string {
  const shown = numbers.slice(-shownLevels).map((one) => (one ? listNumber(one.number, one.format) : ''));
  return `${prefix}${shown.filter(Boolean).join('.')}${suffix}`.trim();
}

/** OpenDocument reader. Its recursion is bounded by the depth limit of `parseXml`. */
class OdfReader {
  private readonly writer = new BlockWriter();
  private after: XmlElement[] = [];
  private readonly listStyles: (string | undefined)[] = [];
  private readonly numbering = new Map<string, number>();
  private readonly itemNumbers: (ItemNumber | undefined)[] = [];
  private readonly headingNumbers: (ItemNumber | undefined)[] = [];
  private readonly annotations: { element: XmlElement; text: string }[] = [];
  /** Comments whose text has begun, by name. */
  private readonly commented = new Map<string, { text: string }>();

  constructor(private readonly context: Context) {}

  private get styles(): Styles {
    return this.context.styles;
  }

  read(body: XmlElement): Block[] {
    this.readAll(body);
    return this.finish();
  }

  private finish(): Block[] {
    for (const { element, text } of this.annotations) this.writer.write(annotationBlock(element, quoted(text)));
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
    for (const frame of notes.flatMap((note) => childElements(note, 'frame'))) {
      if (!filledIn.has(frame.attributes['presentation:class'] ?? '')) this.readElement(frame);
    }
    return this.finish();
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
    if (element.name === 'annotation') this.addAnnotation(element);
    if (skipped.has(element.name)) return;
    switch (element.name) {
      case 'h':
        return this.readHeading(
          element,
          wholeNumber(element.attributes['text:outline-level'], { least: 1, most: deepestHeading, otherwise: 1 }),
        );
      case 'p':
        return this.readParagraph(element);
      case 'table':
        return this.readTable(element);
      case 'object':
        for (const block of this.context.objects.get(element.attributes['xlink:href'] ?? '') ?? [])
          this.writer.write(block);
        return;
      case 'title':
        // The title of a chart has paragraphs, that of a drawing has none.
        if (childElements(element).length > 0) return this.readAll(element);
        return this.writer.write({ type: 'paragraph', text: textOf(element) });
      case 'desc':
        return this.writer.write({ type: 'paragraph', text: textOf(element) });
      default:
        this.readAll(element);
    }
  }

  private readHeading(element: XmlElement, level: number): void {
    const text = this.inlineText(element).replace(/\s+/g, ' ');
    const number = element.name === 'h' && text !== '' ? this.headingNumber(element, level) : '';
    this.writer.heading(level, `${number} ${text}`.trim());
    this.readAfter();
  }

  private headingNumber({ attributes }: XmlElement, level: number): string {
    const style = this.styles.levelOf(outline, level);
    if (!style || attributes['text:is-list-header'] === 'true') return '';
    const before = attributes['text:restart-numbering'] === 'true' ? undefined : this.headingNumbers[level - 1]?.number;
    const number = wholeNumber(attributes['text:start-value'], {
      least: 0,
      otherwise: before === undefined ? style.start : before + 1,
    });
    this.headingNumbers.length = level;
    this.headingNumbers[level - 1] = { number, format: style.format };
    return printed(style, Array.from(this.headingNumbers));
  }

  /** Names connect the two ends of the commented text; without a name, it is where the comment stands. */
  private addAnnotation(element: XmlElement): void {
    const annotation = { element, text: '' };
    this.annotations.push(annotation);
    const name = element.attributes['office:name'];
    if (name !== undefined) this.commented.set(name, annotation);
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
    const form = this.styles.levelOf(style, level);
    const { 'text:continue-numbering': continues, 'text:continue-list': continued } = list.attributes;
    let number = (continues === 'true' || continued ? this.numbering.get(counter) : undefined) ?? form?.start ?? 1;
    for (const item of childElements(list)) {
      number = wholeNumber(item.attributes['text:start-value'], { least: 0, otherwise: number });
      const isMarked = item.name === 'list-item' && childElements(item)[0]?.name !== 'list';
      this.itemNumbers[level - 1] = form && { number, format: form.format };
      const mark = form ? printed(form, this.itemNumbers.slice(0, level)) : '-';
      this.writer.enter({ type: 'item', marker: isMarked ? `${mark} ` : undefined });
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

  private addText(text: string, parts: string[]): void {
    parts.push(text);
    for (const [name, annotation] of this.commented) {
      annotation.text = (annotation.text + text).slice(0, longestQuote);
      if (annotation.text.length === longestQuote) this.commented.delete(name);
    }
  }

  private inlineText(element: XmlElement): string {
    const parts: string[] = [];
    this.addInline(element, parts);
    return parts.join('').trim();
  }

  private addInline(element: XmlElement, parts: string[]): void {
    for (const child of element.children) {
      if (typeof child === 'string') this.addText(child.replace(/[ \t\r\n]+/g, ' '), parts);
      else if (child.name === 'annotation') this.addAnnotation(child);
      else if (child.name === 'annotation-end') this.commented.delete(child.attributes['office:name'] ?? '');
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

/** Comment: who wrote it when is in elements beside its paragraphs. */
function annotationBlock(annotation: XmlElement, on: string): Block {
  const author = childElements(annotation, 'creator').map(textOf)[0];
  return commentBlock({ author, on, text: paragraphsIn(annotation).map(plainText).join('\n') });
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
function readSpreadsheet(body: XmlElement, context: Context): Block[] {
  const sheets = new Sheets();
  for (const table of childElements(body, 'table')) {
    sheets.startSheet(table.attributes['table:name'] ?? '');
    const shapes = childElements(table, 'shapes');
    const comments: Block[] = [];
    let number = 1;
    for (const row of descendants(table, 'table-row')) {
      const times = repetitions(row, 'table:number-rows-repeated');
      const cells = new Map<number, string>();
      let column = 0;
      for (const cell of childElements(row)) {
        const end = Math.min(column + repetitions(cell, 'table:number-columns-repeated'), mostColumns);
        const text = sheetText(cell);
        if (text !== '') for (let i = column; i < end; i++) cells.set(i, text);
        mergeCells(sheets, cell, { row: number, column });
        const address = `${columnName(column)}${number}`;
        for (const note of childElements(cell, 'annotation')) comments.push(annotationBlock(note, address));
        if (elementAt(cell, 'frame', 'object')) shapes.push(...childElements(cell, 'frame'));
        column = end;
      }
      sheets.addRow(number, cells, times);
      number += times;
    }
    for (const shape of shapes)
      sheets.addBlocks(new OdfReader(context).read({ name: '', attributes: {}, children: [shape] }));
    sheets.addBlocks(comments.filter(({ text }) => text !== ''));
  }
  return sheets.blocks();
}

function mergeCells(sheets: Sheets, cell: XmlElement, { row, column }: { row: number; column: number }): void {
  const [rows, columns] = ['rows', 'columns'].map((name) => repetitions(cell, `table:number-${name}-spanned`));
  if (rows! + columns! > 2)
    sheets.merge({ top: row, left: column, bottom: row + rows! - 1, right: column + columns! - 1 });
}

function columnName(column: number): string {
  const letter = String.fromCharCode(65 + (column % 26));
  return column < 26 ? letter : columnName(Math.floor(column / 26) - 1) + letter;
}

function repetitions({ attributes }: XmlElement, name: string): number {
  return wholeNumber(attributes[name], { least: 1, most: mostRows, otherwise: 1 });
}

/** Numbers without the separators of a language, dates in ISO 8601, all others as the sheet shows them. */
function sheetText(cell: XmlElement): string {
  const { attributes } = cell;
  const date = attributes['office:date-value'];
  if (date) return date.replace(/T00:00:00(?:\.0+)?$/, '');
  const shown = paragraphsIn(cell).map(plainText).join(' ').trim();
  const isPlain = shown === '' || /^-?(?!0\d)[\d.,'\s]+$/.test(shown) || /^-?[\d.,]+E[+-]?\d+$/i.test(shown);
  return attributes['office:value-type'] === 'float' && isPlain
    ? generalNumber(attributes['office:value'] ?? '')
    : shown;
}

function plainText(element: XmlElement): string {
  return element.children
    .map((child) => {
      if (typeof child === 'string') return child.replace(/[ \t\r\n]+/g, ' ');
      if (skipped.has(child.name)) return '';
      return child.name === 's' || child.name === 'tab' || child.name === 'line-break' ? ' ' : plainText(child);
    })
    .join('');
}
