import type { Block } from './block';
import { BlockWriter } from './block-writer';
import { formattedNumber } from './excel-number';
import { wholeNumber } from './whole-number';
import { scanXml, type XmlListener } from './xml-tree';

/** Points by index. */
type Points = Map<number, string>;

interface Series {
  /** Id of the data in newer charts, to which the name of a series refers. */
  id?: string;
  name: string;
  /** Levels of categories, innermost first. */
  categories: Points[];
  values: Points[];
}

type Place = 'categories' | 'values' | 'name' | 'title' | 'label';

/** Elements of charts, and of the newer chart types (`cx:`), that say what the points and texts in them are. */
const places = new Map<string, Place>([
  ['cat', 'categories'],
  ['xVal', 'categories'],
  ['strDim', 'categories'],
  ['val', 'values'],
  ['yVal', 'values'],
  ['bubbleSize', 'values'],
  ['numDim', 'values'],
  ['tx', 'name'],
  ['title', 'title'],
  ['dLbl', 'label'],
  ['userShapes', 'label'],
]);
const caches = new Set(['strCache', 'numCache', 'strLit', 'numLit', 'lvl']);
const textElements = new Set(['v', 't', 'pt', 'formatCode']);
const mostIndex = 100_000_000;

/** Chart of an Office document: its titles, then a table with a line for each category and a column for each series. */
export function chartBlocks(part: Buffer): Block[] {
  const reader = new ChartReader();
  scanXml(part, reader);
  return reader.blocks();
}

class ChartReader implements XmlListener {
  private readonly path: string[] = [];
  private readonly series: Series[] = [];
  private readonly names = new Map<string, string>();
  private readonly titles = new Map<string, string>();
  private readonly labels: string[] = [];
  private current: Series | undefined;
  private points: Points | undefined;
  private index = 0;
  private format = '';
  private name = '';
  /** Tells axes of one kind apart. */
  private axesBegun = 0;
  private pieces: string[] = [];

  open(name: string, attributes: Record<string, string>): void {
    this.path.push(name);
    if (name === 'ser' || name === 'data') {
      this.current = { id: attributes['id'], name: '', categories: [], values: [] };
    } else if (name === 'dataId') this.names.set(attributes['val'] ?? '', this.name);
    else if (name === 'series') this.name = '';
    else if (name === 'pt') this.index = wholeNumber(attributes['idx'], { least: 0, most: mostIndex, otherwise: 0 });
    else if (caches.has(name)) this.startPoints(attributes['formatCode'] ?? '');
    else if (/Ax$|^axis$/.test(name)) this.axesBegun++;
    if (textElements.has(name)) this.pieces = [];
  }

  text(text: string): void {
    this.pieces.push(text);
  }

  close(name: string): void {
    if (textElements.has(name)) {
      const text = this.pieces.join('');
      this.pieces = [];
      if (name === 'formatCode') this.format = text;
      else if (text.trim() !== '') this.addText(text);
    } else if (name === 'p' && this.place() === 'title') this.addText(' ');
    else if (caches.has(name)) this.points = undefined;
    this.path.pop();
    if ((name === 'ser' || name === 'data') && this.current) {
      this.series.push(this.current);
      this.current = undefined;
    }
  }

  blocks(): Block[] {
    const writer = new BlockWriter();
    const title = this.titles.get('chart')?.trim() ?? '';
    const [categoryAxis, ...otherAxes] = this.axes();
    writer.write({ type: 'paragraph', text: [title, ...otherAxes].filter(Boolean).join('\n') });
    const filled = this.series.filter(({ values, categories }) => values.length + categories.length > 0);
    for (const group of groupsOf(filled)) this.writeTable(writer, group, categoryAxis ?? '');
    writer.write({ type: 'paragraph', text: this.labels.join('\n') });
    return writer.blocks();
  }

  /** Axis of the categories first. */
  private axes(): string[] {
    const axes = [...this.titles].filter(([place]) => place !== 'chart');
    const isCategories = ([place]: [string, string]) => /^(?:cat|date)Ax/.test(place);
    const categories = axes.find(isCategories) ?? axes[0];
    return [categories?.[1] ?? '', ...axes.filter((axis) => axis !== categories).map(([, text]) => text)].map((text) =>
      text.trim(),
    );
  }

  private writeTable(writer: BlockWriter, group: Series[], categoryAxis: string): void {
    const categories = mergedLevels(group[0]!.categories);
    const columns = group.flatMap((series) => series.values);
    const indices = new Set([...categories.keys(), ...columns.flatMap((points) => [...points.keys()])]);
    const rows = [...indices]
      .toSorted((a, b) => a - b)
      .map((index) => [categories.get(index) ?? '', ...columns.map((points) => points.get(index) ?? '')]);
    const names = group.flatMap((series) => series.values.map((_, i) => (i === 0 ? this.nameOf(series) : '')));
    writer.table([[categoryAxis, ...names], ...rows], 1);
  }

  private nameOf({ id, name }: Series): string {
    return (name || this.names.get(id ?? '')) ?? '';
  }

  private startPoints(format: string): void {
    this.format = format;
    const place = this.place();
    this.points = new Map();
    if (place === 'categories' || place === 'values') this.current?.[place].push(this.points);
  }

  private addText(text: string): void {
    const place = this.place();
    if (place === 'categories' || place === 'values') {
      this.points?.set(this.index, this.format ? formattedNumber(text, this.format) : text.trim());
    } else if (place === 'name') this.addName(text);
    else if (place === 'title') {
      const of = this.path[this.path.lastIndexOf('title') - 1] ?? '';
      const key = of === 'chart' ? of : `${of} ${this.axesBegun}`;
      this.titles.set(key, (this.titles.get(key) ?? '') + text);
    } else if (this.path.includes('t') || place === 'label') this.labels.push(text.trim());
  }

  private addName(text: string): void {
    if (this.current) this.current.name = `${this.current.name} ${text}`.trim();
    else if (this.path.includes('series')) this.name = `${this.name} ${text}`.trim();
  }

  private place(): Place | undefined {
    for (let i = this.path.length - 1; i >= 0; i--) {
      const place = places.get(this.path[i]!);
      // The texts of a title are in its `tx`.
      if (place === 'name' && this.path.includes('title')) continue;
      if (place === 'name' && this.path.includes('dLbl')) continue;
      if (place) return place;
    }
    return undefined;
  }
}

/** Series with the same categories share a table, as the points of a scatter chart do not. */
function groupsOf(all: Series[]): Series[][] {
  const groups: Series[][] = [];
  for (const series of all) {
    const last = groups.at(-1);
    const isSame = series.categories.length === 0 || areEqual(last?.[0]?.categories, series.categories);
    if (last && isSame) last.push(series);
    else groups.push([series]);
  }
  return groups;
}

function areEqual(a: Points[] | undefined, b: Points[]): boolean {
  if (a?.length !== b.length) return false;
  return a.every(
    (points, i) => points.size === b[i]!.size && [...points].every(([at, text]) => b[i]!.get(at) === text),
  );
}

/** Outer levels of categories have a text only where it begins. */
function mergedLevels(levels: Points[]): Points {
  if (levels.length < 2) return levels[0] ?? new Map<number, string>();
  const shown = levels.map(() => '');
  const merged: Points = new Map();
  for (const index of [...new Set(levels.flatMap((points) => [...points.keys()]))].toSorted((a, b) => a - b)) {
    for (const [i, points] of levels.entries()) shown[i] = points.get(index) ?? (i === 0 ? '' : shown[i]!);
    merged.set(index, shown.toReversed().filter(Boolean).join(' '));
  }
  return merged;
}
