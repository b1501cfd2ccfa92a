import { type Block } from './block';
import { BlockWriter } from './block-writer';
import { type HtmlElement, type HtmlNode, parseHtmlTree } from './html-tree';

const hidden = names(
  'annotation annotation-xml audio canvas datalist embed head iframe noembed noframes noscript object rp script select ' +
    'style svg template textarea title video',
);
const blocks = names(
  'address article aside blockquote body button caption center dd details dialog dir div dl dt fieldset figcaption ' +
    'figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol option p pre search section ' +
    'summary table tbody td tfoot th thead tr ul',
);
const headings = names('h1 h2 h3 h4 h5 h6');
const lists = names('dir menu ol ul');
const rowGroups = names('tbody tfoot thead');
const longestSpan = 100;
/** Limit of empty cells that spans add to a document: a short page could ask for any number. */
const mostSpannedCells = 1_000_000;

/** HTML: the visible text of a page, without scripts and hidden elements. A page without an h1 uses its `<title>`. */
export function parseHtml(source: string, options = { xhtml: false }): Block[] {
  const root = parseHtmlTree(source, options);
  const read = new HtmlReader(layoutTables(root)).read(root);
  const title = read.some((block) => block.type === 'title') ? undefined : documentTitle(root);
  return title ? [{ type: 'title', text: title, level: 1 }, ...read] : read;
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

  constructor(private readonly layout: ReadonlySet<HtmlElement>) {}

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
    if (name === 'img') return this.addText(` ${attribute(element, 'alt') ?? ''} `);
    if (name === 'math') return this.visitMath(element);
    if (!blocks.has(name)) return this.visitChildren(element);
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

  private visitMath(element: HtmlElement): void {
    const text = attribute(element, 'alttext')?.trim();
    if (text) this.addText(text);
    else this.visitChildren(element);
  }

  private visitInLine(element: HtmlElement): void {
    this.breakLine();
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
    const start = Number.parseInt(attribute(element, 'start') ?? '1', 10);
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
    const span = Number.parseInt(attribute(cell, name) ?? '1', 10);
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
    if ('childNodes' in node) for (const child of node.childNodes) pending.push({ node: child, table });
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
  if (hidden.has(element.tagName)) return true;
  // Some pages hide the root element until a script shows it.
  if (element.tagName === 'html' || element.tagName === 'body' || element.attrs.length === 0) return false;
  if ((attribute(element, 'hidden') ?? 'until-found') !== 'until-found') return true;
  if (attribute(element, 'aria-hidden') === 'true') return true;
  return /(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)/i.test(attribute(element, 'style') ?? '');
}

function attribute(element: HtmlElement, name: string): string | undefined {
  return element.attrs.find((attr) => attr.name === name)?.value;
}

function names(list: string): Set<string> {
  return new Set(list.split(' '));
}
