import { html } from 'parse5';
import { type Block } from './block';
import { BlockWriter } from './block-writer';
import { DisplayRules } from './html-display';
import { isUnnamed, linkTarget } from './html-links';
import { showTree } from './html-shown-tree';
import { attributeOf, type HtmlElement, type HtmlNode, isHtml, parseHtmlTree } from './html-tree';
import { mostSpannedCells } from './limits';

const hidden = names(
  'audio canvas datalist embed head iframe noembed noframes noscript object rp script select ' +
    'style template textarea title video',
);
/** In formulas and drawings. */
const hiddenForeign = names(
  'annotation annotation-xml clipPath defs filter marker mask metadata pattern script style symbol',
);
/** Elements of drawings whose characters are shown. */
const drawnText = names('a desc foreignObject text textPath title tspan');
/** All other elements, such as those of a framework, separate words. */
const phrasing = names(
  'a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark meter nobr output picture ' +
    'progress q rb rbc rt rtc ruby s samp small span strike strong sub sup time tt u var wbr',
);
/** Elements that have no markup of their own in a block: a style can put them in a line. */
const plainBlocks = names('article aside dd div dt footer header nav p section');
const blockDisplay = /^(?:block|flow-root|flex|grid|list-item|table|table-(?:caption|row|row-group))$/;
const blocksWithin = /^(?:inline-)?(?:flex|grid)$/;
const blocks = names(
  'address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption ' +
    'figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol option p pre search section ' +
    'summary table tbody td tfoot th thead tr ul',
);
const headings = names('h1 h2 h3 h4 h5 h6');
const lists = names('dir menu ol ul');
const rowGroups = names('tbody tfoot thead');
const mostPiecesOfLink = 8;
const longestSpan = 100;

export interface HtmlOptions {
  /** Self-closing tags are honoured. */
  xhtml?: boolean;
  /** The page is part of a larger document: its `<title>` is used only where it has no h1. */
  isPart?: boolean;
}

/**
 * HTML: the visible text of a page, without scripts and hidden elements. The `<title>` comes first: as its h1, or
 * above it, at level 0, where the h1 does not have all of its words.
 */
export function parseHtml(source: string, { xhtml = false, isPart = false }: HtmlOptions = {}): Block[] {
  const root = parseHtmlTree(source, { xhtml });
  const title = documentTitle(root);
  const displays = new DisplayRules();
  showTree(root, (css) => displays.add(css));
  const read = new HtmlReader(layoutTables(root), displays).read(root);
  if (!title) return read;
  const tops = read.filter((block) => block.type === 'title');
  if (tops.some((top) => wordsOf(top.text).includes(wordsOf(title)))) return read;
  if (isPart && tops.length > 0) return read;
  return [{ type: 'title', text: title, level: tops.length > 0 ? 0 : 1 }, ...read];
}

function wordsOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();
}

interface Table {
  rows: string[][];
  headerLines: number;
  /** Per column: number of following rows that a cell above still spans. */
  reaching: number[];
}

/** HTML reader with an explicit stack: pages nest deeper than the call stack allows. */
class HtmlReader {
  private readonly writer = new BlockWriter();
  private readonly pending: (HtmlNode | (() => void))[] = [];
  private readonly tables: Table[] = [];
  private spannedCells = 0;
  /** Next number of each open list; undefined for bullet lists. */
  private readonly numbers: (number | undefined)[] = [];
  private text: string[] = [];
  private endsWithSpace = true;
  private inPre = false;
  private inLine = false;
  /** Whether the next text is a word of its own. */
  private startsWord = false;

  constructor(
    private readonly layout: ReadonlySet<HtmlElement>,
    private readonly displays: DisplayRules,
  ) {}

  read(root: HtmlNode): Block[] {
    this.pending.push(root);
    for (let next = this.pending.pop(); next; next = this.pending.pop()) {
      if (typeof next === 'function') next();
      else this.visit(next);
    }
    this.endParagraph();
    return this.writer.blocks();
  }

  private visit(node: HtmlNode): void {
    if ('value' in node) return this.addText(node.value);
    if ('tagName' in node) return this.visitElement(node);
    this.visitChildren(node);
  }

  private visitElement(element: HtmlElement): void {
    const name = element.tagName;
    if (isHidden(element)) return;
    if (name === 'br') return this.breakLine();
    if (name === 'img') return this.addText(` ${attributeOf(element, 'alt') ?? ''} `);
    if (name === 'math') return this.visitMath(element);
    if (!isHtml(element)) return this.visitForeign(element);
    if (!this.isBlock(element)) return this.visitPhrase(element);
    if (this.inLine) return this.visitInLine(element);

    this.endParagraph();
    if (headings.has(name)) return this.visitHeading(element);
    if (name === 'pre') return this.visitPre(element);
    if (lists.has(name)) return this.visitList(element);
    if (name === 'li') return this.visitItem(element);
    if (name === 'blockquote') return this.visitQuote(element);
    if (name === 'table' && !this.layout.has(element)) return this.visitTable(element);
    const table = this.tables.at(-1);
    if (rowGroups.has(name) && table) return this.visitChildren(element, () => (table.reaching = []));
    if (name === 'tr' && table) return this.visitRow(element, table);
    if ((name === 'td' || name === 'th') && table) return this.visitCell(element, table);
    this.visitChildren(element, () => this.endParagraph());
  }

  private isBlock(element: HtmlElement): boolean {
    const { tagName, parentNode } = element;
    if (blocks.has(tagName)) return !plainBlocks.has(tagName) || this.displays.of(element) !== 'inline';
    const display = this.displays.of(element) ?? '';
    if (blockDisplay.test(display)) return true;
    // Highlighted code has such styles for its line numbers.
    const isWithin = !this.inPre && parentNode && 'tagName' in parentNode && tagName !== 'slot';
    return isWithin ? blocksWithin.test(this.displays.of(parentNode) ?? '') : false;
  }

  private visitPhrase(element: HtmlElement): void {
    if (!phrasing.has(element.tagName) && !blocks.has(element.tagName)) {
      this.startsWord = true;
      return this.visitChildren(element, () => (this.startsWord = true));
    }
    if (this.isMarkOfNote(element)) return this.visitChildren(element, () => (this.startsWord = true));
    const target = linkTarget(element);
    if (target === undefined) return this.visitChildren(element);
    const { text } = this;
    const start = text.length;
    this.visitChildren(element, () => {
      if (this.text !== text || text.length - start > mostPiecesOfLink) return;
      if (isUnnamed(text.slice(start).join(''))) this.addText(` (${target})`);
    });
  }

  /** Raised link before a text, such as the number of a footnote. */
  private isMarkOfNote({ tagName, childNodes }: HtmlElement): boolean {
    if (tagName !== 'sup' || this.text.length > 2 || this.text.some((part) => part.trim() !== '')) return false;
    const [link, ...others] = childNodes;
    return others.length === 0 && link !== undefined && 'tagName' in link && attributeOf(link, 'href') !== undefined;
  }

  /** Drawings (SVG): their texts, titles and descriptions. */
  private visitForeign(element: HtmlElement): void {
    const { tagName, namespaceURI, childNodes } = element;
    if (namespaceURI !== html.NS.SVG) return this.visitChildren(element);
    if (tagName === 'text' || tagName === 'desc' || tagName === 'foreignObject') return this.visitInLine(element);
    if (drawnText.has(tagName)) {
      if (tagName === 'title' || element.attrs.some(({ name }) => /^d?[xy]$/.test(name))) this.startsWord = true;
      return this.visitChildren(element, tagName === 'title' ? () => (this.startsWord = true) : undefined);
    }
    for (const child of childNodes.toReversed()) if ('tagName' in child) this.pending.push(child);
  }

  private visitMath(element: HtmlElement): void {
    const text = attributeOf(element, 'alttext')?.trim();
    if (text) this.addText(text);
    else this.visitChildren(element);
  }

  private visitInLine(element: HtmlElement): void {
    if (this.text.length > 0 && this.text.at(-1) !== '\n') this.breakLine();
    this.visitChildren(element, () => this.breakLine());
  }

  private visitHeading(element: HtmlElement): void {
    this.inLine = true;
    this.visitChildren(element, () => {
      this.inLine = false;
      this.writer.heading(Number(element.tagName[1]), this.takeText().replace(/\n+/g, ' '));
    });
  }

  private visitPre(element: HtmlElement): void {
    this.inPre = true;
    this.inLine = true;
    this.visitChildren(element, () => {
      this.inPre = false;
      this.inLine = false;
      this.writer.write({ type: 'code', text: this.text.join('').trimEnd() });
      this.takeText();
    });
  }

  private visitList(element: HtmlElement): void {
    const start = Number.parseInt(attributeOf(element, 'start') ?? '1', 10);
    this.numbers.push(element.tagName === 'ol' ? start || 0 : undefined);
    this.writer.enter({ type: 'list' });
    this.visitChildren(element, () => {
      this.endParagraph();
      this.numbers.pop();
      this.writer.leave();
    });
  }

  private visitItem(element: HtmlElement): void {
    const number = this.numbers.at(-1);
    if (number !== undefined) this.numbers[this.numbers.length - 1] = number + 1;
    this.writer.enter({ type: 'item', marker: number === undefined ? '- ' : `${number}. ` });
    this.visitChildren(element, () => {
      this.endParagraph();
      this.writer.leave();
    });
  }

  private visitQuote(element: HtmlElement): void {
    this.writer.enter({ type: 'blockquote' });
    this.visitChildren(element, () => {
      this.endParagraph();
      this.writer.leave();
    });
  }

  private visitTable(element: HtmlElement): void {
    const table: Table = { rows: [], headerLines: 0, reaching: [] };
    this.tables.push(table);
    this.visitChildren(element, () => {
      this.endParagraph();
      this.tables.pop();
      this.writer.table(table.rows, table.headerLines);
    });
  }

  private visitRow(element: HtmlElement, table: Table): void {
    const row: string[] = [];
    table.rows.push(row);
    this.visitChildren(element, () => {
      table.reaching.length = table.reaching.findLastIndex((rows) => rows > 0) + 1;
      while (row.length < table.reaching.length) this.addReached(row, table);
      const isBlank = row.every((cell) => cell === '');
      if (isBlank) table.rows.pop();
      else if (table.headerLines === table.rows.length - 1 && isHeaderRow(element)) table.headerLines++;
    });
  }

  private visitCell(element: HtmlElement, table: Table): void {
    this.inLine = true;
    this.visitChildren(element, () => {
      this.inLine = false;
      const row = table.rows.at(-1) ?? [];
      if (table.rows.length === 0) table.rows.push(row);
      while (table.reaching[row.length]) this.addReached(row, table);
      const rowsBelow = this.spanOf(element, 'rowspan') - 1;
      const end = row.length + this.spanOf(element, 'colspan');
      table.reaching[row.length] = rowsBelow;
      row.push(this.takeText().replace(/\n+/g, ' '));
      for (; row.length < end; this.spannedCells++) {
        table.reaching[row.length] = rowsBelow;
        row.push('');
      }
    });
  }

  /** Adds an empty cell: spanned by a cell of a row above, or left of such a cell. */
  private addReached(row: string[], { reaching }: Table): void {
    if (reaching[row.length]) reaching[row.length]!--;
    row.push('');
    if (this.spannedCells++ >= mostSpannedCells) reaching.length = 0;
  }

  private spanOf(cell: HtmlElement, name: 'colspan' | 'rowspan'): number {
    if (this.spannedCells >= mostSpannedCells) return 1;
    const span = Number.parseInt(attributeOf(cell, name) ?? '1', 10);
    // `rowspan="0"` spans all remaining rows.
    if (span === 0 && name === 'rowspan') return longestSpan;
    return span > 0 ? Math.min(span, longestSpan) : 1;
  }

  private visitChildren(node: HtmlNode, leave?: () => void): void {
    if (leave) this.pending.push(leave);
    if (!('childNodes' in node)) return;
    for (let i = node.childNodes.length - 1; i >= 0; i--) this.pending.push(node.childNodes[i]!);
  }

  private addText(text: string): void {
    if (this.inPre) {
      this.text.push(text);
      this.endsWithSpace = text.endsWith('\n');
      return;
    }
    const collapsed = text.replace(/[ \t\n\f\r]+/g, ' ');
    const added = this.endsWithSpace && collapsed.startsWith(' ') ? collapsed.slice(1) : collapsed;
    if (added === '') return;
    if (this.startsWord && !this.endsWithSpace && /^[^\s\p{Pe}\p{Pf}.,;:!?]/u.test(added)) {
      if (!/[\p{Ps}\p{Pi}]$/u.test(this.text.at(-1)!)) this.text.push(' ');
    }
    this.startsWord = false;
    this.text.push(added);
    this.endsWithSpace = added.endsWith(' ');
  }

  private breakLine(): void {
    // Code highlighters make each line a block element: two adjacent blocks are separated by one line end.
    if (this.inPre && this.endsWithSpace) return;
    this.text.push('\n');
    this.endsWithSpace = true;
  }

  private endParagraph(): void {
    this.writer.write({ type: 'paragraph', text: this.takeText() });
  }

  private takeText(): string {
    const text = this.text.join('').replaceAll(' \n', '\n').trim();
    this.text = [];
    this.endsWithSpace = true;
    return text;
  }
}

/** Layout tables: tables that contain headings, code or other tables. Their cells are read as plain blocks. */
function layoutTables(root: HtmlNode): Set<HtmlElement> {
  const layout = new Set<HtmlElement>();
  const pending: { node: HtmlNode; table?: HtmlElement }[] = [{ node: root }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    let { table } = next;
    const { node } = next;
    if ('tagName' in node) {
      const isTable = node.tagName === 'table';
      if (table && (isTable || node.tagName === 'pre' || headings.has(node.tagName))) layout.add(table);
      if (isTable) table = node;
    }
    if (!('childNodes' in node)) continue;
    for (const child of node.childNodes) if ('childNodes' in child) pending.push({ node: child, table });
  }
  return layout;
}

function documentTitle(root: HtmlNode): string | undefined {
  const head = childElement(childElement(root, 'html'), 'head');
  const text = childElement(head, 'title')?.childNodes[0];
  return text && 'value' in text ? text.value.replace(/\s+/g, ' ').trim() : undefined;
}

function childElement(node: HtmlNode | undefined, name: string): HtmlElement | undefined {
  if (!node || !('childNodes' in node)) return undefined;
  return node.childNodes.find((child): child is HtmlElement => 'tagName' in child && child.tagName === name);
}

function isHeaderRow(row: HtmlElement): boolean {
  const parent = row.parentNode;
  if (parent && 'tagName' in parent && parent.tagName === 'thead') return true;
  return row.childNodes.every((cell) => !('tagName' in cell) || cell.tagName === 'th');
}

function isHidden(element: HtmlElement): boolean {
  if ((isHtml(element) ? hidden : hiddenForeign).has(element.tagName)) return true;
  // Some pages hide the root element until a script shows it.
  if (element.tagName === 'html' || element.tagName === 'body' || element.attrs.length === 0) return false;
  if ((attributeOf(element, 'hidden') ?? 'until-found') !== 'until-found') return true;
  if (attributeOf(element, 'aria-hidden') === 'true') return true;
  return /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(attributeOf(element, 'style') ?? '');
}

function names(list: string): Set<string> {
  return new Set(list.split(' '));
}
