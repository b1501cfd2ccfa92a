import { hex as unicodeOf } from 'dingbat-to-unicode';
import type { Block, OnReading } from './block';
import { BlockWriter, type ListItem } from './block-writer';
import { mostSpannedCells } from './limits';
import { formulaText } from './office-formulas';
import { drawingOf, shownAlternative } from './word-drawings';
import type { Mark, WordNumbering } from './word-numbering';
import type { ParagraphKind, WordStyles } from './word-styles';
import { wholeNumber } from './whole-number';
import { attributeOf, childElements, elementAt, scanTrees, textOf, valueOf, type XmlElement } from './xml-tree';

/** Elements that are not text of the document: properties, instructions of fields, deletions, what is above ruby text. */
const skipped = new Set(
  (
    'pPr rPr tblPr tblGrid tblPrEx trPr tcPr sdtPr sdtEndPr sectPr delText instrText delInstrText fldData del moveFrom ' +
    'rt rubyPr bookmarkStart bookmarkEnd footnoteRef endnoteRef annotationRef'
  ).split(' '),
);
const bodyElements = new Set(
  'p tbl altChunk AlternateContent commentRangeStart commentRangeEnd del moveFrom sdtPr'.split(' '),
);
const pageFields = /^\s*(?:PAGE|NUMPAGES|SECTIONPAGES)\b/i;
const longestSpan = 100;
const longestQuote = 250;
const firstRowBit = 0x0020;

/** Parts of a document that its text refers to. */
export interface WordContext {
  styles: WordStyles;
  numbering: WordNumbering;
  /** Charts, diagrams and imported documents by the ids of their relations. */
  embedded: ReadonlyMap<string, Block[]>;
  /** Whether a foot- or endnote exists, by `footnote 1`. */
  hasNote: (key: string) => boolean;
}

/** Paragraphs of one kind that become one block. */
type Run = { type: 'list'; items: ListItem[] } | { type: 'code' | 'blockquote'; lines: string[] };

interface Field {
  instruction: string;
  isResult: boolean;
}

/** Reader of one part of a Word document: body, header, footer, notes. Its recursion is bounded by the depth of XML. */
export class WordReader {
  /** Keys of notes in the order of their references. */
  readonly notes = new Map<string, number>();
  /** Commented text by id of the comment. */
  readonly commented = new Map<string, string>();
  private readonly writer = new BlockWriter();
  private readonly open = new Set<string>();
  private readonly fields: Field[] = [];
  private readonly imported = new Set<string>();
  private run: Run | undefined;
  /** Text boxes, charts and other blocks within a paragraph, which follow it. */
  private after: (XmlElement | Block[])[] = [];
  /** Text of a paragraph whose end is deleted, which the next one continues. */
  private begun: string[] = [];
  private listNumbers: number[] = [];
  private spannedCells = 0;

  constructor(
    private readonly context: WordContext,
    private readonly options = { pageNumbers: true },
  ) {}

  /** Returns the name of the root element. */
  readPart(part: Buffer, onReading?: OnReading): string {
    return scanTrees(part, bodyElements, (element) => this.readBlock(element), onReading);
  }

  /** Notes as a numbered list. */
  readNotes(bodies: Map<string, XmlElement>): void {
    this.endRun();
    if (this.notes.size === 0) return;
    this.writer.enter({ type: 'list' });
    // References within notes add to the list.
    for (const [key, number] of this.notes) {
      this.writer.enter({ type: 'item', marker: `${number}. ` });
      this.readAll(bodies.get(key));
      this.endRun();
      this.writer.leave();
    }
    this.writer.leave();
  }

  blocks(): Block[] {
    this.endRun();
    if (this.begun.length > 0) this.writer.write({ type: 'paragraph', text: tidied(this.begun.splice(0)) });
    return this.writer.blocks();
  }

  readAll(parent: XmlElement | undefined): void {
    for (const child of childElements(parent)) this.readBlock(child);
  }

  private readBlock(element: XmlElement): void {
    const { name } = element;
    if (skipped.has(name)) return;
    if (name === 'p') this.readParagraph(element);
    else if (name === 'tbl') this.readTable(element);
    else if (name === 'AlternateContent') this.readAll(shownAlternative(element));
    else if (name === 'altChunk') this.writeEmbedded(attributeOf(element, 'id'));
    else if (/^(?:commentRange(?:Start|End))$/.test(name)) this.addInline(element, []);
    else this.readAll(element);
  }

  private readParagraph(paragraph: XmlElement): void {
    const properties = elementAt(paragraph, 'pPr');
    const parts = this.begun.splice(0);
    for (const child of childElements(paragraph)) this.addInline(child, parts);
    if (elementAt(properties, 'rPr', 'del')) {
      this.begun = parts;
      return;
    }
    const style = valueOf(elementAt(properties, 'pStyle')) ?? '';
    const kind = this.context.styles.kindOf(style);
    const mark = this.context.numbering.mark(properties, style);
    const text = kind.type === 'code' ? parts.join('').trimEnd() : tidied(parts);
    if (text.trim() !== '') this.writeParagraph(text, kind, mark);
    this.writeAfter();
  }

  private writeParagraph(text: string, kind: ParagraphKind, mark: Mark | undefined): void {
    if (kind.type === 'heading') {
      this.endRun();
      const number = mark && mark.text !== '-' ? `${mark.text} ` : '';
      this.writer.heading(kind.level, number + text.replace(/\n+/g, ' '));
    } else if (kind.type === 'code' || kind.type === 'blockquote') {
      if (this.run?.type !== kind.type) {
        this.endRun();
        this.run = { type: kind.type, lines: [] };
      }
      this.run.lines.push(mark && mark.text !== '-' ? `${mark.text} ${text}` : text);
    } else if (kind.type === 'list' || mark) {
      if (this.run?.type !== 'list') {
        this.endRun();
        this.run = { type: 'list', items: [] };
      }
      const depth = Math.max(kind.type === 'list' ? kind.depth : 0, mark?.depth ?? 0);
      this.run.items.push({ depth, marker: `${mark?.text ?? this.listMark(kind, depth)} `, text });
    } else {
      this.endRun();
      this.writer.write({ type: 'paragraph', text });
    }
  }

  /** Mark of a paragraph whose style is that of a list, but has no numbering. */
  private listMark(kind: ParagraphKind, depth: number): string {
    if (kind.type !== 'list' || !kind.isNumbered) return '-';
    this.listNumbers.length = depth + 1;
    this.listNumbers[depth] = (this.listNumbers[depth] ?? 0) + 1;
    return `${this.listNumbers[depth]}.`;
  }

  private endRun(): void {
    const { run } = this;
    this.run = undefined;
    if (!run) return;
    this.listNumbers = [];
    if (run.type !== 'list') return this.writer.write({ type: run.type, text: run.lines.join('\n') });
    // Clauses below a numbered heading have no item above them.
    const least = run.items.reduce((depth, item) => Math.min(depth, item.depth), Infinity);
    this.writer.list(run.items.map((item) => ({ ...item, depth: item.depth - least })));
  }

  private writeAfter(): void {
    for (const next of this.after.splice(0)) {
      this.endRun();
      if (Array.isArray(next)) for (const block of next) this.writer.write(block);
      else this.readAll(next);
    }
  }

  /** An imported document is read once, however often it is referred to. */
  private writeEmbedded(id: string | undefined): void {
    const blocks = this.context.embedded.get(id ?? '');
    if (id === undefined || !blocks || this.imported.has(id)) return;
    this.imported.add(id);
    this.endRun();
    for (const block of blocks) this.writer.write(block);
  }

  private addInline(element: XmlElement, parts: string[]): void {
    const { name } = element;
    if (skipped.has(name)) {
      if (name === 'instrText' && this.fields.length > 0) this.fields.at(-1)!.instruction += textOf(element);
      return;
    }
    switch (name) {
      case 'r':
        return isHiddenRun(element) ? undefined : this.addAllInline(element, parts);
      case 't':
        return this.addText(textOf(element), parts);
      case 'tab':
        return this.addText('\t', parts);
      case 'br':
      case 'cr':
        return void parts.push(lineEnd);
      case 'noBreakHyphen':
        return this.addText('\u2011', parts);
      case 'sym':
        return this.addText(symbol(element), parts);
      case 'oMath':
        return this.addText(formulaText(element), parts);
      case 'fldChar':
        return this.readFieldMark(attributeOf(element, 'fldCharType'));
      case 'fldSimple':
        if (!this.isHidden(attributeOf(element, 'instr') ?? '')) this.addAllInline(element, parts);
        return;
      case 'footnoteReference':
      case 'endnoteReference':
        return this.addNote(`${name.replace('Reference', '')} ${attributeOf(element, 'id')}`, parts);
      case 'commentRangeStart':
        return this.startComment(attributeOf(element, 'id') ?? '');
      case 'commentRangeEnd':
        return void this.open.delete(attributeOf(element, 'id') ?? '');
      case 'AlternateContent':
        return this.addAllInline(shownAlternative(element), parts);
      case 'drawing':
      case 'pict':
        return this.addDrawing(element, parts);
      case 'txbxContent':
      case 'p':
      case 'tbl':
        return void this.after.push(name === 'txbxContent' ? element : { name, attributes: {}, children: [element] });
      default:
        this.addAllInline(element, parts);
    }
  }

  private addAllInline(parent: XmlElement | undefined, parts: string[]): void {
    for (const child of childElements(parent)) this.addInline(child, parts);
  }

  private addText(text: string, parts: string[]): void {
    if (text === '' || this.fields.some(({ instruction, isResult }) => isResult && this.isHidden(instruction))) return;
    parts.push(text);
    for (const id of this.open) {
      const quote = (this.commented.get(id) ?? '') + text;
      this.commented.set(id, quote.slice(0, longestQuote));
      if (quote.length >= longestQuote) this.open.delete(id);
    }
  }

  private startComment(id: string): void {
    if (!this.commented.has(id)) this.open.add(id);
  }

  private addNote(key: string, parts: string[]): void {
    if (!this.context.hasNote(key)) return;
    const number = this.notes.get(key) ?? this.notes.size + 1;
    this.notes.set(key, number);
    parts.push(`[${number}]`);
  }

  private readFieldMark(type: string | undefined): void {
    if (type === 'begin') this.fields.push({ instruction: '', isResult: false });
    else if (type === 'end') this.fields.pop();
    else if (type === 'separate' && this.fields.length > 0) this.fields.at(-1)!.isResult = true;
  }

  /** Numbers of pages in headers and footers are not those of a page that anybody sees. */
  private isHidden(instruction: string): boolean {
    return !this.options.pageNumbers && pageFields.test(instruction);
  }

  private addDrawing(element: XmlElement, parts: string[]): void {
    const { boxes, embedded, alternativeText } = drawingOf(element);
    this.after.push(...boxes);
    for (const id of embedded) {
      const blocks = this.context.embedded.get(id);
      if (blocks) this.after.push(blocks);
    }
    if (alternativeText !== '') this.addText(` ${alternativeText} `, parts);
  }

  private readTable(table: XmlElement): void {
    this.endRun();
    if (this.isLayout(table)) return this.readAll(table);
    const rows: string[][] = [];
    let headerLines = 0;
    const all = within(table, 'tr').filter((row) => !elementAt(row, 'trPr', 'del'));
    const isFirstHeader = all.length > 1 && hasFirstRow(elementAt(table, 'tblPr', 'tblLook'));
    for (const [index, row] of all.entries()) {
      const cells = this.cellsOf(row);
      if (cells.every((cell) => cell === '')) continue;
      rows.push(cells);
      const isHeader = elementAt(row, 'trPr', 'tblHeader') || (index === 0 && isFirstHeader);
      if (isHeader && headerLines === rows.length - 1) headerLines++;
    }
    this.writer.table(rows, headerLines);
    this.writeAfter();
  }

  private cellsOf(row: XmlElement): string[] {
    const cells: string[] = [];
    for (const cell of within(row, 'tc')) {
      const properties = elementAt(cell, 'tcPr');
      const merge = elementAt(properties, 'vMerge');
      const continues = merge !== undefined && (valueOf(merge) ?? 'continue') === 'continue';
      cells.push(continues ? '' : this.cellText(cell));
      const span = wholeNumber(valueOf(elementAt(properties, 'gridSpan')), {
        least: 1,
        most: longestSpan,
        otherwise: 1,
      });
      for (let i = 1; i < span && this.spannedCells < mostSpannedCells; i++, this.spannedCells++) cells.push('');
    }
    return cells;
  }

  /** Paragraphs of a cell in a line, with their numbers and text boxes. Charts follow the table. */
  private cellText(cell: XmlElement): string {
    const texts: string[] = [];
    const around = this.after.splice(0);
    for (const paragraph of within(cell, 'p')) {
      const properties = elementAt(paragraph, 'pPr');
      const mark = this.context.numbering.mark(properties, valueOf(elementAt(properties, 'pStyle')) ?? '');
      const parts: string[] = [];
      this.addAllInline(paragraph, parts);
      const text = tidied(parts).replace(/\n+/g, ' ');
      if (text !== '') texts.push(mark && mark.text !== '-' ? `${mark.text} ${text}` : text);
      for (const next of this.after.splice(0)) {
        if (Array.isArray(next)) around.push(next);
        else texts.push(this.cellText(next));
      }
    }
    this.after = around;
    return texts.filter(Boolean).join(' ');
  }

  /** Layout tables: tables that contain headings, code or other tables. Their cells are read as plain blocks. */
  private isLayout(element: XmlElement): boolean {
    return childElements(element).some((child) => {
      if (child.name === 'tbl') return true;
      const style = child.name === 'p' ? valueOf(elementAt(child, 'pPr', 'pStyle')) : undefined;
      const kind = style === undefined ? undefined : this.context.styles.kindOf(style).type;
      if (kind === 'code') return true;
      if (kind === 'heading' && tidied([textOf(child)]) !== '') return true;
      return this.isLayout(child);
    });
  }
}

const lineEnd = '\n';

/** As a browser shows it: white space is one space, without any at the ends of lines. */
function tidied(parts: string[]): string {
  const text = parts
    .map((part) => (part === lineEnd ? part : part.replaceAll('\u00ad', '').replace(/[ \t\r\n\f\v]+/g, ' ')))
    .join('');
  return text
    .replace(/ {2,}/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .trim();
}

function symbol(element: XmlElement): string {
  const [font = '', code = ''] = [attributeOf(element, 'font'), attributeOf(element, 'char')];
  const found = unicodeOf(font, code) ?? (/^F0..$/i.test(code) ? unicodeOf(font, code.slice(2)) : undefined);
  return found?.string ?? '';
}

/** Rows, cells or paragraphs of a container, also those that a content control is around. */
function within(container: XmlElement, name: string): XmlElement[] {
  return childElements(container).flatMap((child) => {
    if (child.name === name) return [child];
    if (skipped.has(child.name) || child.name === 'tbl') return [];
    return within(child.name === 'AlternateContent' ? (shownAlternative(child) ?? child) : child, name);
  });
}

function hasFirstRow(look: XmlElement | undefined): boolean {
  const firstRow = attributeOf(look, 'firstRow');
  if (firstRow !== undefined) return ['1', 'true', 'on'].includes(firstRow);
  return (Number.parseInt(valueOf(look) ?? '0', 16) & firstRowBit) !== 0;
}

function isHiddenRun(run: XmlElement): boolean {
  const vanish = elementAt(run, 'rPr', 'vanish');
  return vanish !== undefined && !/^(?:0|false|off)$/.test(valueOf(vanish) ?? '');
}
