import { type Block } from './block';

/** Maximum list depth that is indented: a list nested 1,000 deep must not become mostly spaces. */
const deepestIndentation = 20;

interface Container {
  type: 'list' | 'item' | 'blockquote';
  /** List marker of an item, written before its first line only. */
  marker?: string;
}

export interface ListItem {
  depth: number;
  marker?: string;
  text: string;
}

interface OpenContainer extends Container {
  /** True for lists, and for an item outside of any list, which is a list of its own. */
  isList: boolean;
}

/**
 * Block writer: collects blocks in reading order. An outermost list or quote becomes one block, one line per paragraph.
 * Headings, code and tables inside it end that block and become blocks of their own.
 */
export class BlockWriter {
  private readonly written: Block[] = [];
  private readonly open: OpenContainer[] = [];
  private lines: string[] = [];
  private lists = 0;

  enter(container: Container): void {
    if (this.open.length === 0) this.lines = [];
    const isList = container.type === 'list' || (container.type === 'item' && this.lists === 0);
    this.open.push({ ...container, isList });
    if (isList) this.lists++;
  }

  leave(): void {
    if (this.open.length === 1) this.closeLines();
    if (this.open.pop()?.isList) this.lists--;
  }

  write(block: Block): void {
    if (block.text.trim() === '') return;
    if (this.open.length > 0 && ['paragraph', 'list', 'blockquote'].includes(block.type)) return this.writeLine(block);
    this.closeLines();
    this.written.push(block);
  }

  heading(level: number, text: string): void {
    this.write({ type: level === 1 ? 'title' : 'subtitle', text, level });
  }

  table(rows: string[][], headerLines: number): void {
    const text = rows.map((cells) =>
      cells
        .map((cell) => cell.replaceAll('\n', ' ').trim())
        .join(' | ')
        .trim(),
    );
    this.write({ type: 'table', text: text.join('\n'), headerLines });
  }

  /**
   * Writes lists of formats in which an item is a paragraph with a depth. An item without a marker continues the item
   * before it.
   */
  list(items: ListItem[]): void {
    this.enter({ type: 'list' });
    for (const { depth, marker, text } of items) {
      for (let above = 0; above < depth; above++) this.enter({ type: 'list' });
      this.enter({ type: 'item', marker });
      this.write({ type: 'paragraph', text });
      for (let left = -1; left < depth; left++) this.leave();
    }
    this.leave();
  }

  blocks(): Block[] {
    this.closeLines();
    return this.written;
  }

  private writeLine({ text }: Block): void {
    const container = this.open.at(-1);
    const marker = container?.marker;
    const indentation = '  '.repeat(Math.min(marker ? this.lists - 1 : this.lists, deepestIndentation));
    this.lines.push(indentation + (marker ?? '') + text.replaceAll('\n', `\n${indentation}${marker ? '  ' : ''}`));
    if (container) container.marker = undefined;
  }

  private closeLines(): void {
    const outermost = this.open[0];
    if (!outermost || this.lines.length === 0) return;
    const type = outermost.type === 'blockquote' ? 'blockquote' : 'list';
    this.written.push({ type, text: this.lines.join('\n') });
    this.lines = [];
  }
}
