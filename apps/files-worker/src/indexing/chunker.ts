import type { PassageSubtype, PassageType } from '@parley/contracts/passages';
import { type Block } from '@parley/documents/block';
import { cutProse, packUnits, trimBlankLines } from './cut-text';

export interface Chunk {
  content: string;
  /** Default: `chunk`. */
  type?: PassageType;
  subtype: PassageSubtype;
  /** Zero-based index in the document. */
  position: number;
  pageNumber?: number;
  /** Whether some of the text was read by OCR. */
  isRecognised?: boolean;
  /** Headings above the chunk, outermost first, without the headings that the chunk begins with. */
  breadcrumb: string[];
}

export interface ChunkOptions {
  /** Maximum length of a chunk in UTF-16 code units; at least 100. */
  maximumLength: number;
  /** Blocks under one heading are merged while they are shorter than this. Default: half of `maximumLength`. */
  minimumParagraphLength?: number;
}

/**
 * The text of every block appears once and in order; only a split table repeats its header lines. A chunk is yielded as
 * soon as no later block can change it.
 */
export function* chunk(blocks: Iterable<Block>, options: ChunkOptions): Generator<Chunk> {
  const chunker = new Chunker(options);
  for (const block of blocks) yield* chunker.add(block);
  yield* chunker.finish();
}

export async function* chunkStream(blocks: AsyncIterable<Block>, options: ChunkOptions): AsyncGenerator<Chunk> {
  const chunker = new Chunker(options);
  for await (const block of blocks) yield* chunker.add(block);
  yield* chunker.finish();
}

const separator = '\n\n';
/** Maximum length of a title in breadcrumbs, which are stored with each chunk below the title. */
const longestCrumb = 200;

interface Open {
  parts: Block[];
  length: number;
  breadcrumb: string[];
}

/**
 * Builds one chunk at a time. A heading closes it, as does a block that does not fit, or a block that follows when both
 * the chunk and the block have reached the minimum length.
 */
class Chunker {
  private readonly titles: { level: number; text: string }[] = [];
  private readonly maximum: number;
  private readonly minimum: number;
  private open: Open = { parts: [], length: 0, breadcrumb: [] };
  private closed = 0;

  constructor({ maximumLength, minimumParagraphLength }: ChunkOptions) {
    if (!(maximumLength >= 100)) throw new RangeError(`maximumLength must be at least 100, not ${maximumLength}`);
    this.maximum = maximumLength;
    this.minimum = minimumParagraphLength ?? maximumLength / 2;
  }

  *add(block: Block): Generator<Chunk> {
    const text = trimBlankLines(block.text);
    if (text === '') return;
    const whole = { ...block, text };
    yield* isHeading(block) ? this.addHeading(whole) : this.addBody(whole);
  }

  *finish(): Generator<Chunk> {
    yield* this.close();
  }

  private *addHeading(heading: Block): Generator<Chunk> {
    const level = levelOf(heading);
    const first = this.open.parts[0];
    const continues = this.hasOnlyHeadings() && first && levelOf(first) <= level;
    if (!continues || !this.fits(heading.text)) yield* this.close();
    while (this.titles.length > 0 && this.titles.at(-1)!.level >= level) this.titles.pop();
    yield* this.append(heading);
    this.titles.push({ level, text: crumb(heading.text) });
  }

  private *addBody(block: Block): Generator<Chunk> {
    const onlyHeadings = this.hasOnlyHeadings();
    const isShort = this.open.length < this.minimum || block.text.length < this.minimum;
    if (!this.fits(block.text) || !(onlyHeadings || isShort)) {
      // A heading stays with the text below it, so the block is split to continue there, unless hardly any room is
      // left.
      const shares = onlyHeadings || (block.text.length > this.maximum && this.open.length < this.minimum);
      if (!shares || this.room() < this.leastRoom(block)) yield* this.close();
    }
    yield* this.append(block);
  }

  private *append(block: Block): Generator<Chunk> {
    let isFirst = true;
    for (const text of cut(block, this.room(), this.maximum)) {
      if (!isFirst) yield* this.close();
      if (this.open.parts.length === 0) this.open.breadcrumb = this.titles.map((title) => title.text);
      else this.open.length += separator.length;
      this.open.parts.push({ ...block, text });
      this.open.length += text.length;
      isFirst = false;
    }
  }

  private *close(): Generator<Chunk> {
    const { parts, breadcrumb } = this.open;
    this.open = { parts: [], length: 0, breadcrumb: [] };
    if (parts.length === 0) return;
    const main = parts.reduce((largest, part) => (weight(part) > weight(largest) ? part : largest));
    yield {
      content: parts.map((part) => part.text).join(separator),
      subtype: main.type,
      position: this.closed++,
      pageNumber: parts[0]!.pageNumber,
      isRecognised: parts.some(({ isRecognised }) => isRecognised) || undefined,
      breadcrumb,
    };
  }

  private room(): number {
    return this.open.parts.length === 0 ? this.maximum : this.maximum - this.open.length - separator.length;
  }

  private fits(text: string): boolean {
    return text.length <= this.room();
  }

  private hasOnlyHeadings(): boolean {
    return this.open.parts.length > 0 && isHeading(this.open.parts.at(-1)!);
  }

  private leastRoom(block: Block): number {
    return Math.max(this.maximum / 4, 2 * repeatedHeader(block, this.maximum).length);
  }
}

function cut(block: Block, firstRoom: number, room: number): Iterable<string> {
  const { text } = block;
  if (text.length <= firstRoom) return [text];
  if (block.type === 'code') return packUnits(text.split('\n'), firstRoom, room);
  if (block.type === 'list') return packUnits(listItems(text), firstRoom, room);
  if (block.type === 'table') return cutTable(block, firstRoom, room);
  return cutProse(text, firstRoom, room);
}

function* cutTable(table: Block, firstRoom: number, room: number): Generator<string> {
  const header = repeatedHeader(table, room);
  const rows = table.text.slice(header.length).split('\n');
  for (const piece of packUnits(rows, firstRoom - header.length, room - header.length)) yield header + piece;
}

/** Header lines with their line end; empty when they would take more than half of a chunk. */
function repeatedHeader({ type, text, headerLines = 0 }: Block, maximum: number): string {
  if (type !== 'table' || headerLines === 0) return '';
  const lines = text.split('\n', headerLines + 1);
  const header = lines.slice(0, headerLines).join('\n') + '\n';
  return lines.length > headerLines && header.length <= maximum / 2 ? header : '';
}

function listItems(text: string): string[] {
  const items: string[] = [];
  let item: string[] = [];
  for (const line of text.split('\n')) {
    if (item.length > 0 && /^\s*(?:[-*+•]|\d{1,9}[.)])\s/.test(line)) {
      items.push(item.join('\n'));
      item = [];
    }
    item.push(line);
  }
  return [...items, item.join('\n')];
}

function weight(part: Block): number {
  return isHeading(part) ? 0 : part.text.length;
}

function isHeading({ type }: Block): boolean {
  return type === 'title' || type === 'subtitle';
}

function levelOf({ type, level }: Block): number {
  return level ?? (type === 'title' ? 1 : 2);
}

function crumb(text: string): string {
  if (text.length <= longestCrumb) return text;
  return [...cutProse(text, longestCrumb - 1, longestCrumb - 1)][0]! + '…';
}
