import type { TextContent, TextItem } from 'pdfjs-dist/types/src/display/api';

/** Text on one baseline without a gap wider than a word space. Coordinates in points, y downwards. */
export interface Segment {
  text: string;
  left: number;
  right: number;
  y: number;
  size: number;
  isBold: boolean;
  isMonospaced: boolean;
  isRightToLeft: boolean;
  /** Position in the drawing order of the page. */
  order: number;
}

export interface Line extends Omit<Segment, 'order'> {
  segments: Segment[];
}

/** Lines read from top to bottom before the next region: a column, or text that spans all columns. */
export type Region = Line[];

export interface Page {
  number: number;
  height: number;
  regions: Region[];
  /** Comments of readers, which follow the text of the page. */
  comments?: string[];
}

interface Glyphs extends Segment {
  spaceBefore: boolean;
}

/** Multiples of the font size. */
const widestWordGap = 0.85;
/** Narrower limit for texts not drawn consecutively, which rarely are one line of prose. */
const widestGapOutOfOrder = 0.5;
const narrowestSpace = 0.15;
const sameBaseline = 0.45;
const widestMarkerGap = 4;
const farthestRepeat = 0.12;
/** Distance between the estimated positions of repeated characters, whose widths are unknown. */
const farthestOverlap = 0.3;
/** Part of the width of a character. */
const leastOverlap = 0.6;
const longestOverlap = 100;
const fewestStacked = 8;
const ascent = 0.88;
/** Letters so narrow that their repeats are in the same text. */
const narrow = /([ijlftrI1.,;:'’!|()[\]-])\1+/g;

const shortestColumn = 3;
/** pdfjs-dist finds no space behind the marker of an item that is read from right to left. */
const gluedMarker = /^([•‣▪◦]|\p{N}{1,3}[.)])(?=\p{L})/u;

/** Zero-width characters. Soft hyphens are removed later, when lines are joined. */
const invisible = /[\u200b\u2060\ufeff]/g;
/** Punctuation of vertical text, as characters of its own. */
const verticalForms = /[\ufe10-\ufe19\ufe30-\ufe48]/g;
const plain = /^[\x20-\x7e]*$/;
const eastAsian = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\uff00-\uffef]/u;
const bullets = '•◦▪▫‣⁃·●○■□◆◇➢➤✓✔\uf0b7\uf0a7\uf0d8\uf0fc\ue00c\uf02d';
const longestMarker = 7;
const marker = new RegExp(`^(?:[${bullets}–—*-]|\\(?(?:\\d{1,3}|[a-z]|[ivx]{1,5})[.)])$`, 'iu');

/**
 * Page text in reading order. Rotated text is read separately, after the direction that has the most text.
 * @param toPage transform from page coordinates to points from the upper left corner of the shown page
 */
export function linesOf(content: TextContent, toPage: number[], boldFonts: ReadonlySet<string>): Region[] {
  const directions = new Map<number, Glyphs[]>();
  let order = 0;
  let spaceBefore = false;
  for (const item of content.items) {
    if (!('str' in item) || item.str === '') continue;
    const text = cleaned(item.str);
    if (text === ' ' || text.trim() === '') {
      spaceBefore = true;
      continue;
    }
    const isVertical = content.styles[item.fontName]?.vertical ?? false;
    const angle = isVertical ? (angleOf(item, toPage) + 90) % 360 : angleOf(item, toPage);
    const glyphs = glyphsOf(isVertical ? { ...item, width: item.height } : item, toPage, angle);
    glyphs.text = text;
    glyphs.isBold = boldFonts.has(item.fontName);
    glyphs.isMonospaced = content.styles[item.fontName]?.fontFamily === 'monospace';
    glyphs.order = order++;
    glyphs.spaceBefore = spaceBefore;
    spaceBefore = false;
    const turned = directions.get(angle);
    if (turned) turned.push(glyphs);
    else directions.set(angle, [glyphs]);
  }
  turnStacked(directions);
  const byLength = [...directions.values()].sort((a, b) => lengthOf(b) - lengthOf(a));
  return byLength.flatMap((glyphs) => regionsOf(segmentsOf(withoutRepeats(glyphs))));
}

export function isMarker(text: string): boolean {
  return text.length <= longestMarker && marker.test(text);
}

export function isEastAsian(character: string | undefined): boolean {
  return character !== undefined && character > '\u2fff' && eastAsian.test(character);
}

function cleaned(text: string): string {
  if (plain.test(text)) return text;
  const shown = text.replace(verticalForms, (form) => form.normalize('NFKC'));
  return shown.replace(invisible, '').replace(/\s/gu, ' ');
}

function lengthOf(glyphs: Glyphs[]): number {
  return glyphs.reduce((sum, { text }) => sum + text.length, 0);
}

/** Clockwise angle, rounded to 5 degrees, so that slightly skewed scans still have lines. */
function angleOf({ transform }: TextItem, page: number[]): number {
  const [a, b] = transform as [number, number];
  const [pa, pb, pc, pd] = page as [number, number, number, number];
  const x = pa * a + pc * b;
  const y = pb * a + pd * b;
  return y === 0 && x > 0 ? 0 : (Math.round((Math.atan2(y, x) * 36) / Math.PI) * 5 + 360) % 360;
}

/** Glyph position after the page is rotated so that the text runs to the right. */
function glyphsOf({ str, transform, width, dir }: TextItem, page: number[], angle: number): Glyphs {
  const [a, b, c, d, e, f] = transform as [number, number, number, number, number, number];
  const [pa, pb, pc, pd, pe, pf] = page as [number, number, number, number, number, number];
  const x = pa * e + pc * f + pe;
  const y = pb * e + pd * f + pf;
  const radians = (angle * Math.PI) / 180;
  const cos = Math.cos(radians);
  const sin = Math.sin(radians);
  const left = x * cos + y * sin;
  return {
    text: str,
    left,
    right: left + Math.max(0, width),
    y: y * cos - x * sin,
    size: Math.sqrt(c * c + d * d) || Math.sqrt(a * a + b * b) || 1,
    isBold: false,
    isMonospaced: false,
    isRightToLeft: dir === 'rtl',
    order: 0,
    spaceBefore: false,
  };
}

/**
 * Vertical text in a font for horizontal text: East Asian characters drawn one below the other. Turns them into lines
 * from top to bottom, the rightmost first.
 */
function turnStacked(directions: Map<number, Glyphs[]>): void {
  const upright = directions.get(0) ?? [];
  const single = upright.filter(({ text }) => [...text.trim()].length === 1 && isEastAsian(text.trim()[0]));
  if (single.length < fewestStacked || single.length < 0.8 * upright.length) return;
  let below = 0;
  let beside = 0;
  for (const [i, glyph] of single.entries()) {
    const next = single[i + 1];
    if (!next || next.order !== glyph.order + 1) continue;
    const dx = Math.abs(next.left - glyph.left) / glyph.size;
    const dy = (next.y - glyph.y) / glyph.size;
    if (dx < 0.3 && dy > 0.7 && dy < 2) below++;
    else if (Math.abs(dy) < 0.3) beside++;
  }
  if (below < 0.6 * single.length || beside > 0.2 * below) return;
  const stacked = new Set(single);
  const turned = single.map((glyph): Glyphs => {
    const top = glyph.y - ascent * glyph.size;
    return { ...glyph, left: top, right: top + glyph.size, y: -glyph.left };
  });
  directions.set(
    0,
    upright.filter((glyph) => !stacked.has(glyph)),
  );
  directions.set(90, [...(directions.get(90) ?? []), ...turned]);
}

/** Removes repeats: some PDFs imitate bold by drawing the same text twice, slightly offset. */
function withoutRepeats(glyphs: Glyphs[]): Glyphs[] {
  const drawn = new Map<string, Glyphs[]>();
  for (const glyph of glyphs) {
    const same = drawn.get(glyph.text);
    if (same) same.push(glyph);
    else drawn.set(glyph.text, [glyph]);
  }
  if (drawn.size === glyphs.length) return glyphs;
  const repeats = new Set([...drawn.values()].flatMap((same) => (same.length > 1 ? repeatsAmong(same) : [])));
  return repeats.size > 0 ? glyphs.filter((glyph) => !repeats.has(glyph)) : glyphs;
}

function repeatsAmong(same: Glyphs[]): Glyphs[] {
  const first = new Map<string, Glyphs[]>();
  return same.filter((glyph) => {
    const [cell, ...beside] = cellsAround(glyph);
    if ([cell!, ...beside].some((near) => first.get(near)?.some((other) => isRepeat(glyph, other)))) return true;
    const inCell = first.get(cell!);
    if (inCell) inCell.push(glyph);
    else first.set(cell!, [glyph]);
    return false;
  });
}

/**
 * Spatial hash: the grid cell of a text, then its neighbours, where its repeats can be. Cells scale with the font size,
 * so that each contains only a few distinct texts, whatever their size and number.
 */
function cellsAround({ left, y, size }: Glyphs): string[] {
  const scale = Math.ceil(Math.log2(size));
  const width = farthestRepeat * 2 ** scale;
  const column = Math.floor(left / width);
  const row = Math.floor(y / width);
  return [0, -1, 1].flatMap((dx) => [0, -1, 1].map((dy) => `${scale} ${column + dx} ${row + dy}`));
}

function isRepeat(a: Glyphs, b: Glyphs): boolean {
  const near = farthestRepeat * a.size;
  return Math.abs(a.left - b.left) < near && Math.abs(a.y - b.y) < near && Math.abs(a.size - b.size) < near;
}

function segmentsOf(glyphs: Glyphs[]): Segment[] {
  const segments: Segment[] = [];
  for (const line of byBaseline(glyphs)) {
    let run: Glyphs[] = [];
    for (const glyph of withoutOverlaps(line.sort((a, b) => a.left - b.left))) {
      if (run.length > 0 && areApart(run, glyph)) {
        segments.push(joined(run));
        run = [];
      }
      run.push(glyph);
    }
    segments.push(joined(run));
  }
  return segments;
}

/**
 * Removes characters that are drawn again over those of the text before, where the two texts are not the same. Where all
 * characters of a line are drawn twice, pairs of narrow letters within a text are one letter each.
 */
function withoutOverlaps(line: Glyphs[]): Glyphs[] {
  let last: Glyphs | undefined;
  let overlaps = 0;
  const kept: Glyphs[] = [];
  for (const glyph of line) {
    const repeated = last ? repeatedStart(last, glyph) : 0;
    if (repeated > 0) overlaps++;
    const text = glyph.text.slice(repeated);
    if (text === '') continue;
    if (repeated > 0) {
      glyph.left += ((glyph.right - glyph.left) * repeated) / glyph.text.length;
      glyph.text = text;
    }
    kept.push(glyph);
    if (!last || glyph.right > last.right) last = glyph;
  }
  if (overlaps >= 3 && overlaps >= 0.7 * (line.length - 1))
    for (const glyph of kept)
      glyph.text = glyph.text.replace(narrow, (run, letter: string) => letter.repeat(Math.ceil(run.length / 2)));
  return kept;
}

/** Number of characters at the start of `next` that `before` has at the same place. */
function repeatedStart(before: Glyphs, next: Glyphs): number {
  const overlap = before.right - next.left;
  const far = farthestOverlap * next.size;
  const { length } = next.text;
  const width = (next.right - next.left) / length;
  const isSameSize = Math.abs(before.size - next.size) <= farthestRepeat * next.size;
  if (!isSameSize || overlap <= 0 || overlap < Math.min(far, leastOverlap * width)) return 0;
  if (next.right <= before.right + far) {
    const widthBefore = (before.right - before.left) / before.text.length;
    const at = (next.left - before.left) / widthBefore;
    const slack = Math.min(longestOverlap, 1 + 0.2 * at);
    const near = before.text.slice(Math.max(0, Math.floor(at - slack)), Math.ceil(at + length + slack));
    if (near.includes(next.text)) return length;
  }
  const expected = Math.min(length, longestOverlap, Math.round((overlap + far) / width));
  for (let count = expected; count > 0 && count * width > overlap - far; count--)
    if (before.text.endsWith(next.text.slice(0, count))) return count;
  return 0;
}

function byBaseline<T extends Pick<Segment, 'y' | 'size'>>(things: T[]): T[][] {
  const lines: T[][] = [];
  let largest: T | undefined;
  for (const thing of [...things].sort((a, b) => a.y - b.y)) {
    if (largest && thing.y - largest.y <= sameBaseline * Math.max(thing.size, largest.size)) {
      lines.at(-1)!.push(thing);
      if (thing.size > largest.size) largest = thing;
    } else {
      lines.push([thing]);
      largest = thing;
    }
  }
  return lines;
}

function areApart(run: Glyphs[], next: Glyphs): boolean {
  const last = run.at(-1)!;
  const gap = (next.left - last.right) / Math.max(last.size, next.size);
  if (run.length === 1 && isMarker(last.text.trim())) return gap > widestMarkerGap;
  return gap > widestWordGap || (gap > widestGapOutOfOrder && Math.abs(next.order - last.order) > 1);
}

function joined(run: Glyphs[]): Segment {
  const rightToLeft = run.filter((glyph) => glyph.isRightToLeft);
  const isRightToLeft = lengthOf(rightToLeft) * 2 > lengthOf(run);
  const read = isRightToLeft ? [...run].reverse() : run;
  let text = '';
  let previous: Glyphs | undefined;
  for (const glyph of read) {
    if (previous && isSpaceBetween(previous, glyph)) text += ' ';
    text += glyph.text;
    previous = glyph;
  }
  if (isRightToLeft) text = text.replace(gluedMarker, '$1 ');
  const main = run.reduce((largest, glyph) => (glyph.text.length > largest.text.length ? glyph : largest));
  return {
    text: text.replace(/ {2,}/g, ' ').trim(),
    left: run[0]!.left,
    right: run.reduce((right, glyph) => Math.max(right, glyph.right), -Infinity),
    y: main.y,
    size: main.size,
    isBold: run.every((glyph) => glyph.isBold || isMarker(glyph.text.trim())) && run.some((glyph) => glyph.isBold),
    isMonospaced: run.every((glyph) => glyph.isMonospaced && !isEastAsian(glyph.text[0])),
    isRightToLeft,
    order: run.reduce((first, glyph) => Math.min(first, glyph.order), Infinity),
  };
}

function isSpaceBetween(previous: Glyphs, next: Glyphs): boolean {
  const gap = Math.max(next.left - previous.right, previous.left - next.right) / Math.max(previous.size, next.size);
  const isDense = isEastAsian(previous.text.at(-1)) && isEastAsian(next.text[0]);
  if (isDense) return gap > 0.8;
  return gap > narrowestSpace || (next.spaceBefore && next.order === previous.order + 1);
}

/** Splits a page or column recursively at the gutter that most of its lines have. */
function regionsOf(segments: Segment[]): Region[] {
  const gutter = gutterOf(segments);
  if (gutter === undefined) return [toLines(segments)];

  const regions: Region[] = [];
  let across: Segment[] = [];
  let band: Segment[] = [];
  const closeAcross = () => {
    if (across.length > 0) regions.push(toLines(across));
    across = [];
  };
  const closeBand = () => {
    const sides = [
      band.filter((segment) => segment.right <= gutter),
      band.filter((segment) => segment.right > gutter),
    ] as const;
    if (areColumns(...sides)) {
      closeAcross();
      const rightToLeft = band.filter((segment) => segment.isRightToLeft).length * 2 > band.length;
      const columns = rightToLeft ? [...sides].reverse() : sides;
      for (const region of columns.flatMap(regionsOf)) regions.push(region);
    } else {
      for (const segment of band) across.push(segment);
    }
    band = [];
  };
  for (const segment of [...segments].sort((a, b) => a.y - b.y)) {
    if (segment.left < gutter && segment.right > gutter) {
      closeBand();
      across.push(segment);
    } else {
      band.push(segment);
    }
  }
  closeBand();
  closeAcross();
  return regions;
}

/** Gutter: the x position inside the most gaps between horizontal neighbours; undefined with fewer than 3 gaps. */
function gutterOf(segments: Segment[]): number | undefined {
  const sorted = [...segments].sort((a, b) => a.y - b.y);
  const edges: { x: number; change: 1 | -1 }[] = [];
  sorted.forEach((segment, i) => {
    const right = nextToTheRight(sorted, i);
    if (right === undefined || right - segment.right < widestGapOutOfOrder * segment.size) return;
    edges.push({ x: segment.right, change: 1 }, { x: right, change: -1 });
  });
  edges.sort((a, b) => a.x - b.x || a.change - b.change);
  let open = 0;
  let most = 0;
  let gutter: number | undefined;
  edges.forEach(({ x, change }, i) => {
    open += change;
    if (open <= most) return;
    most = open;
    gutter = (x + edges[i + 1]!.x) / 2;
  });
  return most >= shortestColumn ? gutter : undefined;
}

/** Left edge of the nearest segment to the right. Lines of adjacent columns need not share baselines. */
function nextToTheRight(sorted: Segment[], index: number): number | undefined {
  const { y, size, right } = sorted[index]!;
  let nearest: number | undefined;
  const look = (other: Segment) => {
    if (other.left >= right && (nearest === undefined || other.left < nearest)) nearest = other.left;
  };
  for (let i = index - 1; i >= 0 && y - sorted[i]!.y < 0.8 * size; i--) look(sorted[i]!);
  for (let i = index + 1; i < sorted.length && sorted[i]!.y - y < 0.8 * size; i++) look(sorted[i]!);
  return nearest;
}

/**
 * Columns are drawn one after the other, tables row by row. On pages drawn line by line, columns are filled by long
 * lines.
 */
function areColumns(left: Segment[], right: Segment[]): boolean {
  const shorter = Math.min(left.length, right.length);
  if (shorter < shortestColumn) return false;
  const inRight = new Set(right);
  const drawn = [...left, ...right].sort((a, b) => a.order - b.order).map((segment) => inRight.has(segment));
  const changes = drawn.filter((side, i) => i > 0 && side !== drawn[i - 1]).length;
  return changes <= 1 || changes / shorter < 0.2 || (isFilled(left) && isFilled(right));
}

function isFilled(column: Segment[]): boolean {
  const left = column.reduce((least, segment) => Math.min(least, segment.left), Infinity);
  const right = column.reduce((most, segment) => Math.max(most, segment.right), -Infinity);
  const full = column.filter((segment) => segment.right - segment.left > 0.75 * (right - left));
  return full.length > 0.6 * column.length && full.every((segment) => segment.text.length > 20);
}

function toLines(segments: Segment[]): Region {
  return byBaseline(segments).map((onLine) => toLine(onLine));
}

function toLine(onLine: Segment[]): Line {
  const sorted = onLine.sort((a, b) => a.left - b.left);
  const main = sorted.reduce((largest, segment) => (segment.text.length > largest.text.length ? segment : largest));
  const segments = main.isRightToLeft ? [...sorted].reverse() : sorted;
  return {
    segments,
    text: segments.map((segment) => segment.text).join(' '),
    left: sorted[0]!.left,
    right: sorted.reduce((right, segment) => Math.max(right, segment.right), -Infinity),
    y: main.y,
    size: main.size,
    isBold: segments.every((segment) => segment.isBold),
    isMonospaced: segments.every((segment) => segment.isMonospaced),
    isRightToLeft: main.isRightToLeft,
  };
}
