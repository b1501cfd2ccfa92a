import type { Line, Page } from './pdf-lines';

/** Running lines stand in this part of the page, at the top and at the bottom. */
const margin = 0.12;
/** Empty space between a running line and the text, as a multiple of the size of the running line. */
const leastDistance = 1;
/** How far letters rise above their baseline, as a multiple of their size. */
const ascent = 0.8;
const fewestPages = 3;
const mostMissing = 0.2;
/** Between a title and the page number in the other corner, as a multiple of their size; labels stand nearer to what they name. */
const leastGapBeforeNumber = 10;
/** Of the text, which headings surpass. */
const largestOfBody = 1.1;

const total = String.raw`(\s*(?:of|von|\/)\s*\d+)?\s*(?:頁|页|ページ)?`;
const rule = String.raw`[\s|/·.–—-]*`;
const pageNumber = new RegExp(String.raw`^${rule}(?:page|p\.?|seite|s\.?|第)?\s*(\d+)${total}${rule}$`, 'iu');
/** Beside a title, a bare number may be that of a lesson. */
const named = String.raw`(?:\||·|(?<!\p{Letter})(?:page|p\.|seite|s\.)|第)\s*(\d+)${total}`;
const namedLast = new RegExp(`${named}${rule}$`, 'iu');
const namedFirst = new RegExp(`^${rule}${named}`, 'iu');

interface Running {
  line: Line;
  page: number;
  title: string;
  /** The page number that it shows. */
  shown?: number;
}

/**
 * Leaves out headers, footers and page numbers: outermost lines, set off from the text, no larger or bolder than it, that
 * stand in the same place of at least three pages in a row (or of every second one), and either never change or only in
 * their page number. The first of each stays where it is, unless it is nothing but a page number: so no word is lost,
 * even if it was a mistake.
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

/** What of a line stays the same if all that changes is its page number; how many pages there are belongs to it. */
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

/** The repeated lines above and below everything else, each group of them up to a gap before the text. */
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
