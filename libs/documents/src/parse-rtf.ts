import { type Block, UnreadableDocument } from './block';
import { BlockWriter, type ListItem } from './block-writer';
import { codePageOfCharset, decodeCodePage } from './code-page';
import { deepestNesting } from './limits';
import { commentBlock } from './office-comments';
import { damaged } from './zip';

/**
 * Destinations whose text is not document text. Optional destinations (`\*`) that are not in `read` are skipped as
 * well.
 */
const skipped = new Set(
  (
    'colortbl filetbl info ftnsep ftnsepc ftncn pict object_data listtable listoverridetable revtbl rsidtbl nonesttables shprslt stylesheet_data xe tc txe rxe ' +
    'atnid atntime template operator keycode bkmkstart bkmkend'
  ).split(' '),
);
const margin = /^(header|footer)[lrf]?$/;
const pageField = /^\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b/i;
const read = new Set(['footnote', 'shpinst', 'shptxt', 'shp', 'pn', 'nesttableprops']);

const characters: Record<string, string> = {
  tab: '\t',
  line: '\n',
  lbr: '\n',
  emdash: '—',
  endash: '–',
  emspace: ' ',
  enspace: ' ',
  qmspace: ' ',
  bullet: '•',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  zwj: '\u200d',
  zwnj: '\u200c',
  nestcell: ' ',
  nestrow: '\n',
};

type Destination = 'text' | 'skip' | 'fonts' | 'styles' | 'marker' | 'shape' | 'author' | 'instruction';

interface Group {
  destination: Destination;
  font: number | undefined;
  /** `\uc`: number of fallback characters after each `\u`. */
  fallback: number;
  isHidden: boolean;
  isDeleted: boolean;
  isAside: boolean;
}

interface Paragraph {
  style: number;
  outlineLevel?: number;
  list?: number;
  depth: number;
  inTable: boolean;
}

interface Style {
  name: string;
  outlineLevel?: number;
}

/** Text flow: the body, or a footnote, text box, header, footer or comment that interrupts it. */
interface Flow {
  /** Where its paragraphs go. */
  lines: Line[];
  /** Only comments have one. */
  author?: string;
  text: string[];
  paragraph: Paragraph;
  marker: string;
}

type Line =
  | { type: 'heading'; level: number; text: string }
  | { type: 'item'; item: ListItem }
  | { type: 'row'; cells: string[]; isHeader: boolean }
  | { type: 'paragraph' | 'code' | 'blockquote'; text: string };

/**
 * Rich Text Format: tokenizer with an explicit stack. Footnotes and text boxes follow their paragraph. Headers come first,
 * footers and comments last; hidden and deleted text is left out. The package rtf-stream-parser is not used: its time is quadratic in the size of a picture.
 */
export function parseRtf(bytes: Buffer): Block[] {
  const start = bytes.toString('latin1', 0, 1024).replace(/^(?:\xef\xbb\xbf)?\s*/, '');
  if (!start.startsWith('{\\rtf')) {
    throw new UnreadableDocument('The content is not Rich Text Format: save it as RTF or .docx, and upload that file.');
  }
  return writeLines(new RtfReader().read(bytes));
}

class RtfReader {
  private readonly lines: Line[] = [];
  private readonly asides: Line[] = [];
  private readonly margins = { header: [] as Line[], footer: [] as Line[] };
  private readonly comments: Line[] = [];
  /** Author of the next comment. */
  private author = '';
  /** Instruction of a field in a header or footer. */
  private instruction = '';
  private readonly groups: Group[] = [];
  private readonly flows: Flow[] = [];
  private readonly fonts = new Map<number, number>();
  private readonly styles = new Map<number, Style>();
  private group: Group = {
    destination: 'text',
    font: undefined,
    fallback: 1,
    isHidden: false,
    isDeleted: false,
    isAside: false,
  };
  private flow: Flow = newFlow(this.lines);
  private codePage = 1252;
  private defaultFont: number | undefined;
  private pending: string[] = [];
  private toSkip = 0;
  private isOptional = false;
  private footnotes = 0;
  private cells: string[] = [];
  private isHeaderRow = false;
  private style: Style & { id: number } = { id: 0, name: '' };

  read(bytes: Buffer): Line[] {
    const source = bytes.toString('latin1');
    const token = /([{}])|\\([a-z]+)(-?\d+)? ?|\\'([0-9a-f]{2})|\\([^])|([^\\{}\r\n]+)/gi;
    for (let match = token.exec(source); match; match = token.exec(source)) {
      const [, brace, word, parameter, hex, symbol, text] = match;
      if (brace === '{') this.openGroup();
      else if (brace === '}') {
        if (this.groups.length === 0) break;
        this.closeGroup();
        if (this.groups.length === 0) break;
      } else if (word === 'bin') token.lastIndex += Math.max(0, Number(parameter ?? 0));
      else if (word) this.control(word, parameter === undefined ? undefined : Number(parameter));
      else if (hex) this.bytes(String.fromCharCode(Number.parseInt(hex, 16)));
      else if (symbol) this.symbol(symbol);
      else if (text) this.bytes(text);
    }
    if (this.groups.length > 0) throw damaged('it is truncated');
    if (this.cells.length > 0) this.endRow();
    this.endFlow();
    const { header, footer } = this.margins;
    const seen = new Set<string>();
    return [...once(header, seen), ...this.lines, ...once(footer, seen), ...this.comments];
  }

  private openGroup(): void {
    this.flush();
    this.toSkip = 0;
    this.groups.push(this.group);
    if (this.groups.length > deepestNesting) {
      throw new UnreadableDocument(
        `The document is nested more than ${deepestNesting} levels deep. Simplify its structure and upload it again.`,
      );
    }
    this.group = { ...this.group, isAside: false };
  }

  private closeGroup(): void {
    this.flush();
    this.toSkip = 0;
    this.isOptional = false;
    if (this.group.destination === 'styles') this.endStyle();
    if (this.group.isAside) this.endAside();
    this.group = this.groups.pop()!;
  }

  private symbol(symbol: string): void {
    if (symbol === '*') this.isOptional = true;
    else if (symbol === '\n' || symbol === '\r') this.control('par');
    else if (symbol === '~') this.write('\u00a0');
    else if (symbol === '_') this.write('\u2011');
    else if ('\\{}'.includes(symbol)) this.bytes(symbol);
  }

  private control(word: string, parameter?: number): void {
    if (word === 'u') return this.unicode(parameter ?? 0);
    if (this.toSkip > 0) {
      this.toSkip--;
      return;
    }
    this.flush();
    if (this.startsDestination(word)) return;
    this.isOptional = false;
    if (this.group.destination === 'skip') return;
    const character = characters[word];
    if (character !== undefined) return this.write(character);
    if (this.group.destination === 'fonts') return this.fontControl(word, parameter);
    if (this.group.destination === 'styles') return this.styleControl(word, parameter);
    this.characterControl(word, parameter);
    if (this.group.destination === 'text') this.paragraphControl(word, parameter);
  }

  private startsDestination(word: string): boolean {
    const isOptional = this.isOptional;
    this.isOptional = false;
    if (this.group.destination === 'skip') return true;
    if (word === 'fonttbl') this.group.destination = 'fonts';
    else if (word === 'stylesheet') this.group.destination = 'styles';
    else if (word === 'listtext' || word === 'pntext') this.group.destination = 'marker';
    else if (word === 'shpinst') this.group.destination = 'shape';
    else if (word === 'footnote' || word === 'shptxt') this.startAside(word);
    else if (this.flows.length === 0 && margin.test(word))
      this.startMargin(margin.exec(word)![1] as 'header' | 'footer');
    else if (word === 'annotation') this.startComment();
    else if (word === 'atnauthor') this.startText('author');
    else if (word === 'fldinst') this.startText('instruction');
    else if (word === 'fldrslt' && this.isInMargin() && pageField.test(this.instruction))
      this.group.destination = 'skip';
    else if (skipped.has(word) || margin.test(word) || (isOptional && !read.has(word) && !this.isStyle(word)))
      this.group.destination = 'skip';
    else return false;
    return true;
  }

  /** Character, section and table styles are optional destinations in the style sheet. */
  private isStyle(word: string): boolean {
    return this.group.destination === 'styles' && ['cs', 'ds', 'ts'].includes(word);
  }

  private fontControl(word: string, parameter = 0): void {
    if (word === 'f') this.group.font = parameter;
    const page = word === 'cpg' ? parameter : word === 'fcharset' ? codePageOfCharset(parameter) : undefined;
    if (page && this.group.font !== undefined) this.fonts.set(this.group.font, page);
  }

  private styleControl(word: string, parameter = 0): void {
    if (word === 's') this.style.id = parameter;
    if (['cs', 'ds', 'ts'].includes(word)) this.style.id = -1;
    if (word === 'outlinelevel') this.style.outlineLevel = parameter;
  }

  private endStyle(): void {
    const { id, name, outlineLevel } = this.style;
    if (name) this.styles.set(id, { name: name.replace(/;$/, '').trim(), outlineLevel });
    this.style = { id: 0, name: '' };
  }

  private characterControl(word: string, parameter?: number): void {
    const isOn = parameter !== 0;
    if (word === 'f') this.group.font = parameter;
    else if (word === 'uc') this.group.fallback = Math.max(0, parameter ?? 1);
    else if (word === 'v') this.group.isHidden = isOn;
    else if (word === 'deleted') this.group.isDeleted = isOn;
    else if (word === 'plain') {
      this.group.isHidden = false;
      this.group.isDeleted = false;
      this.group.font = this.defaultFont;
    } else if (word === 'ansicpg') this.codePage = parameter || 1252;
    else if (word === 'mac') this.codePage = 10000;
    else if (word === 'pc') this.codePage = 437;
    else if (word === 'pca') this.codePage = 850;
    else if (word === 'deff') this.defaultFont = parameter;
    else if (word === 'chftn') this.write(`[${this.flows.length > 0 ? this.footnotes : this.footnotes + 1}]`);
  }

  private paragraphControl(word: string, parameter?: number): void {
    const { paragraph } = this.flow;
    if (word === 'pard') this.flow.paragraph = newParagraph();
    else if (word === 's') paragraph.style = parameter ?? 0;
    else if (word === 'outlinelevel') paragraph.outlineLevel = parameter;
    else if (word === 'ls') paragraph.list = parameter;
    else if (word === 'ilvl') paragraph.depth = Math.min(Math.max(parameter ?? 0, 0), 8);
    else if (word === 'intbl') paragraph.inTable = true;
    else if (word === 'trowd') this.startRow();
    else if (word === 'trhdr') this.isHeaderRow = true;
    else if (word === 'cell') this.endCell();
    else if (word === 'row') this.endRow();
    else if (word === 'par' || word === 'sect' || word === 'page') this.endParagraph();
  }

  private unicode(code: number): void {
    this.flush();
    this.write(String.fromCharCode(code & 0xffff));
    this.toSkip = this.group.fallback;
  }

  private bytes(text: string): void {
    const skip = Math.min(this.toSkip, text.length);
    this.toSkip -= skip;
    if (skip < text.length && this.group.destination !== 'skip') this.pending.push(text.slice(skip));
  }

  /** Decodes pending bytes: a multi-byte character may be split between tokens. */
  private flush(): void {
    if (this.pending.length === 0) return;
    const bytes = Buffer.from(this.pending.join(''), 'latin1');
    this.pending = [];
    const page = this.fonts.get(this.group.font ?? this.defaultFont ?? -1) ?? this.codePage;
    this.write(decodeCodePage(bytes, page));
  }

  private write(text: string): void {
    this.flush();
    const { destination, isHidden, isDeleted } = this.group;
    if (destination === 'styles') this.style.name += text;
    else if (destination === 'marker') this.flow.marker += text;
    else if (destination === 'author') this.author += text;
    else if (destination === 'instruction') this.instruction += text;
    else if (destination === 'text' && !isHidden && !isDeleted) this.flow.text.push(text);
  }

  private startAside(word: string): void {
    if (word === 'footnote') this.footnotes++;
    this.startFlow(newFlow(this.asides));
  }

  private startMargin(kind: 'header' | 'footer'): void {
    this.startFlow(newFlow(this.margins[kind]));
  }

  private startComment(): void {
    this.startFlow({ ...newFlow([]), author: this.author });
    this.author = '';
  }

  private startFlow(flow: Flow): void {
    this.group = { ...this.group, destination: 'text', isAside: true };
    this.flows.push(this.flow);
    this.flow = flow;
  }

  private startText(destination: 'author' | 'instruction'): void {
    this.group.destination = destination;
    this[destination] = '';
  }

  private isInMargin(): boolean {
    return this.flow.lines === this.margins.header || this.flow.lines === this.margins.footer;
  }

  private endAside(): void {
    this.endFlow();
    const { author, lines } = this.flow;
    if (author !== undefined) this.addComment(author, lines);
    this.flow = this.flows.pop()!;
  }

  private addComment(author: string, lines: Line[]): void {
    const text = lines.map((line) => (line.type === 'item' ? line.item.text : line.type === 'row' ? '' : line.text));
    const comment = commentBlock({ author, text: text.join('\n') });
    if (comment.text !== '') this.comments.push({ type: 'paragraph', text: comment.text });
  }

  private endFlow(): void {
    this.flow.paragraph.inTable = false;
    this.endParagraph();
  }

  private endParagraph(): void {
    this.flush();
    const { paragraph } = this.flow;
    if (paragraph.inTable) {
      this.flow.text.push(' ');
      return;
    }
    const text = this.takeText().replace(/^(\[\d+\])\s+/, '$1 ');
    const marker = this.flow.marker.trim();
    this.flow.marker = '';
    const isAside = this.flows.length > 0;
    if (text !== '') this.flow.lines.push(this.lineOf(text, marker));
    if (!isAside) this.addAsides();
  }

  private lineOf(text: string, marker: string): Line {
    const { style, outlineLevel, list, depth } = this.flow.paragraph;
    const { name = '', outlineLevel: levelOfStyle } = this.styles.get(style) ?? {};
    const level = outlineLevel ?? levelOfStyle ?? levelOfName(name);
    if (level !== undefined && level >= 0 && level < 9) {
      return { type: 'heading', level: Math.min(level + 1, 6), text: `${marker} ${text}`.replace(/\s+/g, ' ').trim() };
    }
    if (list || marker) return { type: 'item', item: { depth, marker: readableMarker(marker), text } };
    if (/^(?:html )?(?:preformatted(?: text)?|code|source code|plain text)$/i.test(name)) return { type: 'code', text };
    return { type: /^(?:intense )?quot(?:e|ations?)$/i.test(name) ? 'blockquote' : 'paragraph', text };
  }

  private endCell(): void {
    this.cells.push(this.takeText().replace(/\s+/g, ' '));
  }

  private startRow(): void {
    this.isHeaderRow = false;
    this.flow.paragraph.inTable = true;
  }

  private endRow(): void {
    this.flow.paragraph.inTable = false;
    if (this.cells.length > 0) this.flow.lines.push({ type: 'row', cells: this.cells, isHeader: this.isHeaderRow });
    this.addAsides();
    this.cells = [];
  }

  private addAsides(): void {
    for (const line of this.asides.splice(0)) this.lines.push(line);
  }

  private takeText(): string {
    this.flush();
    const text = this.flow.text.join('').trim();
    this.flow.text = [];
    return text;
  }
}

/** Headers and footers of other sections and pages repeat most of their text. Their headings head nothing. */
function once(lines: Line[], seen: Set<string>): Line[] {
  return lines
    .map((line): Line => (line.type === 'heading' ? { type: 'paragraph', text: line.text } : line))
    .filter((line) => {
      const key = JSON.stringify(line);
      return !seen.has(key) && seen.add(key);
    });
}

function newFlow(lines: Line[]): Flow {
  return { lines, text: [], paragraph: newParagraph(), marker: '' };
}

function newParagraph(): Paragraph {
  return { style: 0, depth: 0, inTable: false };
}

/** Outline level from 0, as in `\outlinelevel`. */
function levelOfName(name: string): number | undefined {
  if (/^title$/i.test(name)) return 0;
  if (/^subtitle$/i.test(name)) return 1;
  const level = /^heading (\d)$/i.exec(name)?.[1];
  return level ? Number(level) - 1 : undefined;
}

/** Bullets are letters in symbol fonts; anything but a number or letter with punctuation becomes `- `. */
function readableMarker(marker: string): string {
  return /^\(?[\p{Letter}\p{Number}.]+[.):]$/u.test(marker) ? `${marker} ` : '- ';
}

function writeLines(lines: Line[]): Block[] {
  const writer = new BlockWriter();
  for (let start = 0; start < lines.length;) {
    let end = start + 1;
    const { type } = lines[start]!;
    while (end < lines.length && lines[end]!.type === type) end++;
    writeRun(writer, lines.slice(start, end));
    start = end;
  }
  return writer.blocks();
}

function writeRun(writer: BlockWriter, run: Line[]): void {
  const [first] = run;
  if (first!.type === 'item') writer.list(run.flatMap((line) => (line.type === 'item' ? [line.item] : [])));
  else if (first!.type === 'row') {
    const rows = run.flatMap((line) => (line.type === 'row' ? [line] : []));
    const body = rows.findIndex(({ isHeader }) => !isHeader);
    writer.table(
      rows.map(({ cells }) => cells),
      body === -1 ? 0 : body,
    );
  } else if (first!.type === 'code' || first!.type === 'blockquote') {
    const text = run.map((line) => ('text' in line ? line.text : '')).join('\n');
    writer.write({ type: first!.type, text });
  } else {
    for (const line of run) {
      if (line.type === 'heading') writer.heading(line.level, line.text);
      else if (line.type === 'paragraph') writer.write(line);
    }
  }
}
