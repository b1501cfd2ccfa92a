import { type Block } from './block';
import { isEastAsian, isMarker, type Line, type Page, type Region, type Segment } from './pdf-lines';
import { withoutRunningLines } from './pdf-running-lines';

/** Body text statistics: the baseline that headings and other blocks are compared to. */
interface Body {
  size: number;
  /** Line distance within a paragraph, as a multiple of the font size. */
  pitch: number;
  isBold: boolean;
  isMonospaced: boolean;
  /** Heading sizes in descending order; bold headings in body size come last. */
  headingSizes: number[];
  /** Decides whether a hyphen at a line end stays. */
  hyphenated: ReadonlySet<string>;
}

const longestHeading = 150;
const mostHeadingLines = 3;
const deepestLevel = 6;
/** Bounds a paragraph in text without full stops, which would grow over all pages. */
const longestJoined = 10_000;
const shortestTable = 3;
/** Multiples of the usual line distance. */
const widestPitch = 1.25;
/** Multiples of the font size. */
const tableRowPitch = 3.2;
const cellPitch = 1.4;
const indentation = 0.8;
/** Levels of a list, as in other formats, and columns of code. */
const deepestItem = 20;
const deepestCode = 200;

/** Layout analysis: blocks of the whole document in reading order, each with the page on which it begins. */
export function blocksOf(pages: Page[]): Block[] {
  const read = withoutRunningLines(pages);
  const body = bodyOf(read);
  const blocks: Block[] = [];
  let last: Block | undefined;
  for (const { number, regions, comments = [] } of read) {
    for (const region of regions) {
      const found = new RegionReader(region, body).read();
      const [first] = found;
      if (first && last && goesOn(last, first)) last.text = joined([last.text, found.shift()!.text], body);
      for (const block of found) {
        last = { ...block, pageNumber: number };
        blocks.push(last);
      }
    }
    for (const text of comments) blocks.push({ type: 'paragraph', text, pageNumber: number });
  }
  return blocks;
}

/** Whether a column or page continues the sentence at the end of the previous one. */
function goesOn(last: Block, first: Block): boolean {
  if (last.type !== 'paragraph' || first.type !== 'paragraph' || last.text.length > longestJoined) return false;
  return /[\p{L}\p{N},\u2010-]$/u.test(last.text.slice(-2)) && /^\p{Ll}/u.test(first.text);
}

function bodyOf(pages: Page[]): Body {
  const lines = pages.flatMap(({ regions }) => regions.flat());
  const sizes = new Map<number, number>();
  const pitches: number[] = [];
  const hyphenated = new Set<string>();
  let length = 0;
  let bold = 0;
  let monospaced = 0;
  for (const line of lines) {
    const size = halfPoints(line.size);
    sizes.set(size, (sizes.get(size) ?? 0) + line.text.length);
    length += line.text.length;
    if (line.isBold) bold += line.text.length;
    if (line.isMonospaced) monospaced += line.text.length;
    if (line.text.includes('-')) {
      for (const [word] of line.text.matchAll(/\p{L}{1,40}-\p{L}{1,40}/gu)) hyphenated.add(word.toLowerCase());
    }
  }
  const [size] = [...sizes].reduce((most, entry) => (entry[1] > most[1] ? entry : most), [0, 0]);
  for (const region of pages.flatMap(({ regions }) => regions))
    for (const pitch of wrappedPitches(region, size)) pitches.push(pitch);
  const body = {
    size,
    pitch: median(pitches) ?? 1.3,
    isBold: bold * 2 > length,
    isMonospaced: monospaced * 2 > length,
    headingSizes: [],
    hyphenated,
  };
  return { ...body, headingSizes: headingSizesOf(lines, body) };
}

/** Line distances after lines that fill the region, which continue on the next line. */
function wrappedPitches(region: Region, size: number): number[] {
  const { left, right } = edges(bodyLines(region, size));
  return region.flatMap((line, i) => {
    const next = region[i + 1];
    if (!next || line.right < right - 0.1 * (right - left) || !isSameSize(line, next)) return [];
    const pitch = (next.y - line.y) / line.size;
    return pitch > 0.8 && pitch < tableRowPitch ? [pitch] : [];
  });
}

function headingSizesOf(lines: Line[], body: Body): number[] {
  const sizes = lines.filter((line) => isHeadingLine(line, body)).map((line) => headingSize(line, body));
  const sorted = [...new Set(sizes)].sort((a, b) => b - a);
  // Sizes that differ by less than 3 % are one heading level.
  return sorted.filter((size, i) => i === 0 || size === body.size || size < 0.97 * sorted[i - 1]!);
}

function headingSize(line: Line, body: Body): number {
  return Math.max(body.size, halfPoints(line.size));
}

function isHeadingLine({ segments, text, size, isBold, isMonospaced }: Line, body: Body): boolean {
  const isLarge = size > 1.12 * body.size;
  const isBolder = isBold && !body.isBold && !isMonospaced && size > 0.95 * body.size;
  if ((!isLarge && !isBolder) || segments.length > 1 || text.length > longestHeading) return false;
  if (!isLarge && /[.,;]$/.test(text)) return false;
  const isBulleted = /^[^\p{L}\p{N}("“„«¿¡]\s/u.test(text);
  return !isBulleted && /\p{L}{2}|\p{L}.*\p{N}|\p{Lo}/u.test(text);
}

class RegionReader {
  private readonly blocks: Block[] = [];
  private readonly left: number;
  private readonly right: number;
  private next = 0;

  constructor(
    private readonly lines: Region,
    private readonly body: Body,
  ) {
    ({ left: this.left, right: this.right } = edges(bodyLines(lines, body.size)));
  }

  read(): Block[] {
    while (this.next < this.lines.length) {
      this.blocks.push(this.table() ?? this.heading() ?? this.list() ?? this.code() ?? this.paragraph());
    }
    return this.blocks;
  }

  private table(): Block | undefined {
    const table = tableAt(this.lines, this.next);
    if (!table) return undefined;
    this.next += table.lineCount;
    const text = table.rows.map((cells) =>
      cells
        .map((cell) => this.joined(cell))
        .join(' | ')
        .trim(),
    );
    return { type: 'table', text: text.join('\n'), headerLines: table.headerLines };
  }

  private heading(): Block | undefined {
    const lines = this.take((line, previous) => {
      if (!isHeadingLine(line, this.body)) return false;
      return (
        !previous || (isSameSize(line, previous) && line.isBold === previous.isBold && this.isNear(line, previous))
      );
    });
    const last = lines.at(-1);
    const after = this.lines[this.next + lines.length];
    // Not a heading: bold words at the start of a sentence, or large text of several lines.
    const isProse = last && after && isSameSize(last, after) && this.isNear(after, last) && /^\p{Ll}/u.test(after.text);
    if (lines.length === 0 || lines.length > mostHeadingLines || isProse) return undefined;
    this.next += lines.length;
    const size = headingSize(lines[0]!, this.body);
    const smaller = this.body.headingSizes.findIndex((known) => known < 0.97 * size);
    const rank = smaller === -1 ? this.body.headingSizes.length : smaller;
    const level = Math.min(Math.max(rank, 1), deepestLevel);
    return { type: level === 1 ? 'title' : 'subtitle', text: this.joined(lines), level };
  }

  private list(): Block | undefined {
    const items: { left: number; lines: Line[] }[] = [];
    let end = this.next;
    for (let line = this.lines[end]; line; line = this.lines[++end]) {
      const previous = this.lines[end - 1];
      const item = items.at(-1);
      if (item && previous && line.y - previous.y > tableRowPitch * line.size) break;
      if (item && isHeadingLine(line, this.body) && !isHeadingLine(item.lines[0]!, this.body)) break;
      if (isItem(line)) items.push({ left: line.left, lines: [line] });
      else if (item && previous && line.left > item.left + 0.4 * line.size && this.isNear(line, previous))
        item.lines.push(line);
      else break;
    }
    const [first] = items;
    if (!first) return undefined;
    const isCertain = items.length > 1 || first.lines.length > 1 || /^[^\p{L}\p{N}(*–—-]/u.test(first.lines[0]!.text);
    if (!isCertain) return undefined;
    this.next = end;
    const lefts = [...new Set(items.map(({ left }) => halfPoints(left)))];
    const text = items.map(({ left, lines }) => {
      const depth = lefts.filter((other) => other < left - indentation * lines[0]!.size).length;
      return '  '.repeat(Math.min(depth, deepestItem)) + this.joined(lines).replace(/^[^\p{L}\p{N}(]\s+/u, '- ');
    });
    return { type: 'list', text: text.join('\n') };
  }

  private code(): Block | undefined {
    if (this.body.isMonospaced) return undefined;
    const lines = this.take(
      (line, previous) => line.isMonospaced && (!previous || line.y - previous.y < tableRowPitch * line.size),
    );
    if (lines.length === 0) return undefined;
    this.next += lines.length;
    const { left } = edges(lines);
    const columns = (line: Line) => Math.min(Math.round((line.left - left) / (0.6 * line.size)), deepestCode);
    const text = lines.map((line) => ' '.repeat(columns(line)) + line.text);
    return { type: 'code', text: text.join('\n') };
  }

  private paragraph(): Block {
    const lines = this.take((line, previous, index) => {
      if (!previous) return true;
      if (!isSameSize(line, previous) || !this.isNear(line, previous)) return false;
      if (isItem(line) || (line.isMonospaced && !this.body.isMonospaced)) return false;
      if (isHeadingLine(line, this.body) && !isHeadingLine(previous, this.body)) return false;
      if (tableAt(this.lines, index)) return false;
      return !this.beginsParagraph(line, previous);
    });
    this.next += lines.length;
    return { type: 'paragraph', text: this.joined(lines) };
  }

  private take(isWanted: (line: Line, previous: Line | undefined, index: number) => boolean): Line[] {
    let end = this.next;
    while (
      end < this.lines.length &&
      isWanted(this.lines[end]!, end > this.next ? this.lines[end - 1] : undefined, end)
    )
      end++;
    return this.lines.slice(this.next, end);
  }

  private isNear(line: Line, previous: Line): boolean {
    const step = (line.y - previous.y) / Math.max(line.size, previous.size);
    return step > 0 && step <= widestPitch * this.body.pitch;
  }

  private beginsParagraph(line: Line, previous: Line): boolean {
    if (/(?:[.…]\s?){4}\s*\w+$/.test(previous.text.slice(-20))) return true;
    if (hasWideGap(line) && hasWideGap(previous)) return true;
    const isCentred = Math.abs(line.left + line.right - previous.left - previous.right) < line.size;
    if (!line.isRightToLeft && !isCentred && line.left > previous.left + indentation * line.size) return true;
    // A line that had room for the next word was ended on purpose.
    const [word] = line.text.split(' ', 1);
    const wordWidth = ((word!.length + 1) / line.text.length) * (line.right - line.left);
    const room = line.isRightToLeft ? previous.left - this.left : this.right - previous.right;
    const hasRoom = room - wordWidth > 0.1 * (this.right - this.left);
    return hasRoom && (/[.!?:;。！？：]["'”’)]?$/u.test(previous.text) || /^[\p{Lu}\p{N}]/u.test(line.text));
  }

  private joined(lines: { text: string }[]): string {
    return joined(
      lines.map(({ text }) => text),
      this.body,
    );
  }
}

function joined(lines: string[], body: Body): string {
  const parts = lines.map((line, i) => {
    const next = lines[i + 1];
    return next === undefined ? line : endOf(line, next, body);
  });
  return parts.join('').replaceAll('\u00ad', '');
}

/**
 * Dehyphenation: text of a line before the next one. The hyphen at the line end is removed unless the word also occurs
 * hyphenated inside a line, or the next word is capitalised, a number or a conjunction ("pre- and post-war").
 */
function endOf(line: string, next: string, { hyphenated }: Body): string {
  const text = line.trimEnd();
  if (text.endsWith('\u00ad')) return text.slice(0, -1);
  if (/[-\u2010]$/.test(text)) {
    const [word] = /\p{L}*.$/u.exec(text.slice(-40))!;
    const [after] = /^[\p{L}\p{N}]*/u.exec(next)!;
    const isNumber = /\p{N}.$/u.test(text) && /^\p{N}/u.test(after);
    if (isNumber) return text;
    if (word.length > 1 && after && !/^(?:and|or|to|und|oder|bis|bzw)$/.test(after)) {
      const keeps = !/^\p{Ll}/u.test(after) || hyphenated.has(`${word}${after}`.toLowerCase().replace('\u2010', '-'));
      return keeps ? text : text.slice(0, -1);
    }
  }
  return isEastAsian(text.at(-1)) && isEastAsian(next[0]) ? text : `${text} `;
}

function isItem({ text }: Pick<Line, 'text'>): boolean {
  const end = text.indexOf(' ');
  return end > 0 && isMarker(text.slice(0, end));
}

/** Gap between a form label and its value. */
function hasWideGap({ segments, size }: Line): boolean {
  return segments.some((segment, i) => i > 0 && segment.left - segments[i - 1]!.right > 2 * size);
}

interface Table {
  rows: Segment[][][];
  headerLines: number;
  lineCount: number;
}

interface Column {
  left: number;
  right: number;
}

/** Table detection: at least three lines with text in the same two or more columns. Cells may have several lines. */
function tableAt(lines: Region, start: number): Table | undefined {
  if ((lines[start]?.segments.length ?? 0) < 2) return undefined;
  let columns: Column[] = [];
  let end = start;
  let lastFull = start;
  let full = 0;
  for (; end < lines.length; end++) {
    const line = lines[end]!;
    const previous = lines[end - 1];
    if (end > start && line.y - previous!.y > tableRowPitch * line.size) break;
    if (line.segments.length > 1) {
      const wider = withColumnsOf(columns, line.segments);
      if (wider.length < 2) break;
      columns = wider;
      full++;
      lastFull = end;
    } else if (!isInCell(line, previous!, columns)) break;
  }
  if (full < shortestTable) return undefined;
  let last = lastFull;
  // A list in the last cell begins in the line of that row.
  const hasItem = lines[lastFull]!.segments.some(isItem);
  const goesOn = (line: Line, previous: Line) =>
    line.y - previous.y <= cellPitch * line.size && (hasItem || !isItem(line));
  while (last + 1 < end && goesOn(lines[last + 1]!, lines[last]!)) last++;
  const taken = lines.slice(start, last + 1);
  const rows = rowsOf(taken, isRightToLeft(taken) ? columns.toReversed() : columns);
  return { rows, headerLines: headerLinesOf(rows), lineCount: taken.length };
}

/** Whether most texts of a table are; numbers have no direction of their own. */
function isRightToLeft(lines: Line[]): boolean {
  const texts = lines.flatMap(({ segments }) => segments).filter(({ text }) => /\p{L}/u.test(text));
  return texts.filter((segment) => segment.isRightToLeft).length * 2 > texts.length;
}

function withColumnsOf(columns: Column[], segments: Segment[]): Column[] {
  const merged: Column[] = [];
  for (const { left, right } of [...columns, ...segments].sort((a, b) => a.left - b.left)) {
    const last = merged.at(-1);
    if (last && left < last.right) last.right = Math.max(last.right, right);
    else merged.push({ left, right });
  }
  return merged;
}

function isInCell(line: Line, previous: Line, columns: Column[]): boolean {
  const met = columns.filter(({ left, right }) => line.left < right && line.right > left);
  if (met.length !== 1) return false;
  const isClose = line.y - previous.y <= cellPitch * line.size;
  const isInside = line.right <= (columns[columns.indexOf(met[0]!) + 1]?.left ?? Infinity);
  return isInside && (isClose || met[0] !== columns[0]);
}

function rowsOf(lines: Line[], columns: Column[]): Segment[][][] {
  const steps = lines.slice(1).map((line, i) => line.y - lines[i]!.y);
  const least = steps.reduce((a, b) => Math.min(a, b));
  const isSpaced = steps.some((step) => step > 1.25 * least);
  const rows: Segment[][][] = [];
  lines.forEach((line, i) => {
    const cells = columns.map((column) =>
      line.segments.filter((segment) => segment.left < column.right && segment.right > column.left),
    );
    const filled = cells.filter((cell) => cell.length > 0).length;
    const step = i > 0 ? steps[i - 1]! : Infinity;
    const isWrapped = isSpaced
      ? step <= 1.25 * least && step <= cellPitch * line.size
      : cells[0]!.length === 0 && filled < columns.length - 1;
    const row = rows.at(-1);
    if (row && (isWrapped || (filled === 1 && step <= cellPitch * line.size)))
      cells.forEach((cell, c) => {
        for (const segment of cell) row[c]!.push(segment);
      });
    else rows.push(cells);
  });
  return rows;
}

/** A header row is bold, or has no numbers while all other rows do. */
function headerLinesOf([first, ...others]: Segment[][][]): number {
  if (!first || others.length === 0) return 0;
  const isBold = (row: Segment[][]) => row.flat().every((segment) => segment.isBold);
  if (isBold(first) && !others.every(isBold)) return 1;
  const hasNumber = (row: Segment[][]) => row.flat().some(({ text }) => /\p{N}/u.test(text));
  return !hasNumber(first) && first.every((cell) => cell.length > 0) && others.every(hasNumber) ? 1 : 0;
}

function isSameSize(a: Line, b: Line): boolean {
  return Math.abs(a.size - b.size) < 0.12 * Math.max(a.size, b.size);
}

function bodyLines(lines: Line[], size: number): Line[] {
  const usual = lines.filter((line) => line.size <= 1.12 * size);
  return usual.length > 0 ? usual : lines;
}

function edges(lines: Line[]): Column {
  return {
    left: lines.reduce((least, line) => Math.min(least, line.left), Infinity),
    right: lines.reduce((most, line) => Math.max(most, line.right), -Infinity),
  };
}

function halfPoints(size: number): number {
  return Math.round(size * 2) / 2;
}

function median(values: number[]): number | undefined {
  return values.sort((a, b) => a - b)[values.length >> 1];
}
