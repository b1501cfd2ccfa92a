import type { Line, Page } from './pdf-lines';

/** Top and bottom fraction of the page in which running lines can be. */
const margin = 0.12;
/** Minimum empty space between a running line and the text, in multiples of its font size. */
const leastDistance = 1;
/** Ascent above the baseline, in multiples of the font size. */
const ascent = 0.8;
const fewestPages = 3;
const mostMissing = 0.2;
/**
 * Minimum gap between a title and the page number in the opposite corner, in multiples of the font size. Labels are
 * closer to their values.
 */
const leastGapBeforeNumber = 10;
/** Maximum size of a running line relative to body text; larger lines are headings. */
const largestOfBody = 1.1;

const total = String.raw`(\s*(?:of|von|\/)\s*\d+)?\s*(?:頁|页|ページ)?`;
const rule = String.raw`[\s|/·.–—-]*`;
const pageNumber = new RegExp(String.raw`^${rule}(?:page|p\.?|seite|s\.?|第)?\s*(\d+)${total}${rule}$`, 'iu');
/** Beside a title a page number needs a prefix such as "page": a bare number may be the number of a lesson. */
const named = String.raw`(?:\||·|(?<!\p{Letter})(?:page|p\.|seite|s\.)|第)\s*(\d+)${total}`;
const namedLast = new RegExp(`${named}${rule}$`, 'iu');
const namedFirst = new RegExp(`^${rule}${named}`, 'iu');

interface Running {
  line: Line;
  page: number;
  title: string;
  shown?: number;
}

/**
 * Removes headers, footers and page numbers. A running line is outermost, set off from the text, no larger or bolder
 * than it, at the same position on at least three consecutive (or alternate) pages, and differs at most by the page
 * number. The first occurrence stays unless it is only a page number, so a false positive loses no words.
 */
export function withoutRunningLines(pages: Page[]): Page[] {
  const isHeading = headingsBeside(pages);
  const found = new Map<string, Running[]>();
  for (const { number, height, regions } of pages) {
    for (const line of regions.flat()) {
      if ((line.y >= margin * height && line.y <= (1 - margin) * height) || isHeading(line)) continue;
      const running = { line, page: number, ...titleAndNumber(line) };
      const key = `${Math.round(line.y / 2)} ${running.shown === undefined} ${running.title}`;
      const same = found.get(key);
      if (same) same.push(running);
      else found.set(key, [running]);
    }
  }
  const running = [...found.values()].filter((same) => isInARow(same) && (isFixed(same) || countsPages(same)));
  if (running.length === 0) return pages;

  const repeated = new Set(running.flat().map(({ line }) => line));
  const outer = new Set(pages.flatMap(({ regions }) => outermost(regions.flat(), repeated)));
  const left = new Set<Line>();
  for (const same of running) {
    const isNumber = !isFixed(same) && pageNumber.test(same[0]!.line.text);
    for (const { line } of isNumber ? same : same.slice(1)) if (outer.has(line)) left.add(line);
  }
  return pages.map((page) => ({
    ...page,
    regions: page.regions
      .map((region) => region.filter((line) => !left.has(line)))
      .filter((region) => region.length > 0),
  }));
}

/** Numbers of the pages without any text but that of running lines, whose first occurrence counts as one here. */
export function pagesOfRunningLines(pages: Page[]): number[] {
  const left = withoutRunningLines(pages);
  const kept = new Set(left.flatMap(({ regions }) => regions.flat()));
  const running = new Set(
    pages
      .flatMap(({ regions }) => regions.flat())
      .filter((line) => !kept.has(line))
      .map(({ text }) => text),
  );
  const isTextless = ({ regions, comments = [] }: Page) =>
    comments.length === 0 && regions.flat().every(({ text }) => running.has(text));
  return left.filter(isTextless).map(({ number }) => number);
}

function headingsBeside(pages: Page[]): (line: Line) => boolean {
  const lettersOf = new Map<number, number>();
  let bold = 0;
  let all = 0;
  for (const { size, isBold, text } of pages.flatMap(({ regions }) => regions.flat())) {
    const rounded = Math.round(size * 10) / 10;
    lettersOf.set(rounded, (lettersOf.get(rounded) ?? 0) + text.length);
    all += text.length;
    if (isBold) bold += text.length;
  }
  const [body = 0] = [...lettersOf].reduce<number[]>((most, next) => (next[1] > (most[1] ?? 0) ? next : most), []);
  return (line) => line.size > largestOfBody * body || (line.isBold && bold * 2 < all);
}

/** Splits a line into a constant title and its page number; the total number of pages is part of the title. */
function titleAndNumber({ text, segments }: Line): Pick<Running, 'title' | 'shown'> {
  const whole = pageNumber.exec(text) ?? namedLast.exec(text) ?? namedFirst.exec(text);
  if (whole) {
    const [part, shown, of = ''] = whole;
    return { title: text.replace(part, of), shown: Number(shown) };
  }
  const sorted = segments.toSorted((a, b) => a.left - b.left);
  const corners = [
    [sorted[0], sorted[1]],
    [sorted.at(-1), sorted.at(-2)],
  ] as const;
  for (const [corner, next] of corners) {
    const number = corner && next && pageNumber.exec(corner.text);
    if (!number) continue;
    const gap = Math.max(corner.left - next.right, next.left - corner.right);
    if (gap < leastGapBeforeNumber * corner.size) continue;
    const others = sorted.filter((segment) => segment !== corner).map((segment) => segment.text);
    return { title: [...others, number[2] ?? ''].join(' '), shown: Number(number[1]) };
  }
  return { title: text };
}

/** Repeated lines above and below all others, each group up to a gap before the text. */
function outermost(lines: Line[], repeated: ReadonlySet<Line>): Line[] {
  const sorted = [...lines].sort((a, b) => a.y - b.y);
  let top = 0;
  while (top < sorted.length && repeated.has(sorted[top]!)) top++;
  while (top > 0 && !isSetOff(sorted[top - 1]!, sorted[top - 1], sorted[top])) top--;
  let bottom = sorted.length;
  while (bottom > top && repeated.has(sorted[bottom - 1]!)) bottom--;
  while (bottom < sorted.length && !isSetOff(sorted[bottom]!, sorted[bottom - 1], sorted[bottom])) bottom++;
  return [...sorted.slice(0, top), ...sorted.slice(bottom)];
}

function isSetOff(running: Line, upper: Line | undefined, lower: Line | undefined): boolean {
  if (!upper || !lower) return true;
  return lower.y - ascent * lower.size - upper.y > leastDistance * running.size;
}

function isInARow(running: Running[]): boolean {
  const pages = running.map(({ page }) => page);
  if (new Set(pages).size < Math.max(fewestPages, pages.length)) return false;
  const span = pages.at(-1)! - pages[0]! + 1;
  const isAlternate = pages.every((page) => page % 2 === pages[0]! % 2);
  const possible = isAlternate ? (span + 1) / 2 : span;
  return pages.length >= (1 - mostMissing) * possible;
}

function isFixed(running: Running[]): boolean {
  return running.every(({ line }) => line.text === running[0]!.line.text);
}

function countsPages(running: Running[]): boolean {
  return running.every(
    ({ shown, page }) => shown !== undefined && shown - page === running[0]!.shown! - running[0]!.page,
  );
}
