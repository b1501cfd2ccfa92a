import { type Block, UnreadableDocument } from './block';
import { BlockWriter } from './block-writer';
import { mostCells, mostTextCharacters } from './limits';

/** Sparse tables: above this number of cells, with less than 5 % filled, empty cells are omitted. */
const maxPositions = 1_000_000;
const maxPositionsPerCell = 20;

/** Cells that a merge may fill in a document: a short workbook could merge any number. */
const mostMergedCells = 1_000_000;
const mostTitledColumns = 3;

interface Row {
  number: number;
  /** Number of equal rows from here on. */
  times: number;
  cells: Map<number, string>;
}

interface Sheet {
  name: string;
  rows: Row[];
  columns: Set<number>;
  merges: Merge[];
  after: Block[];
}

/** Merged cells, its bounds inclusive. */
export interface Merge {
  top: number;
  left: number;
  bottom: number;
  right: number;
}

/**
 * Spreadsheet: each sheet becomes a title and a table with its first row as header. Empty rows and columns are left
 * out. Merged cells show their text in each row and column that they cover. Shared text counts each time it is shown. Throws UnreadableDocument above the limits of cells or characters.
 */
export class Sheets {
  private readonly sheets: Sheet[] = [];
  private cells = 0;
  private length = 0;
  private filled = 0;
  private readonly margins = new Set<string>();

  startSheet(name: string): void {
    this.sheets.push({ name, rows: [], columns: new Set(), merges: [], after: [] });
  }

  merge(merge: Merge): void {
    this.sheets.at(-1)!.merges.push(merge);
  }

  /** Blocks below the table: shapes, charts, comments. */
  addBlocks(blocks: Block[]): void {
    const { after } = this.sheets.at(-1)!;
    for (const block of blocks) after.push(block);
  }

  /** Header or footer of the pages, which other sheets repeat. */
  addMargin(text: string): void {
    if (text !== '' && !this.margins.has(text)) this.addBlocks([{ type: 'paragraph', text }]);
    this.margins.add(text);
  }

  /** @param number from 1 */
  addRow(number: number, cells: Map<number, string>, times = 1): void {
    const filled = new Map([...cells].filter(([, text]) => text.trim() !== '').toSorted(([a], [b]) => a - b));
    if (filled.size === 0) return;
    const { rows, columns } = this.sheets.at(-1)!;
    for (const [column, text] of filled) {
      columns.add(column);
      this.length += text.length * times;
    }
    this.cells += filled.size * times;
    if (this.length > mostTextCharacters || this.cells > mostCells) {
      throw new UnreadableDocument(
        `The spreadsheet has more than ${mostTextCharacters / 1e6} million characters or ${mostCells / 1e6} million cells. Split it into smaller files.`,
      );
    }
    rows.push({ number, times, cells: filled });
  }

  blocks(): Block[] {
    const writer = new BlockWriter();
    for (const sheet of this.sheets) {
      if (sheet.rows.length === 0 && sheet.after.length === 0) continue;
      writer.heading(1, sheet.name);
      this.fillMerged(sheet);
      if (sheet.rows.length > 0) writer.table(rowsOf(sheet), 1);
      for (const block of sheet.after) writer.write(block);
    }
    return writer.blocks();
  }

  /** A text across all of many columns is that of a title, which is not repeated. */
  private fillMerged({ rows, columns, merges }: Sheet): void {
    const used = inOrder(columns);
    const [leftmost = 0, rightmost = 0] = [used[0], used.at(-1)];
    for (const { top, left, bottom, right } of merges) {
      const start = firstAtLeast(rows.length, (i) => rows[i]!.number + rows[i]!.times > top);
      const first = rows[start];
      const text = first && first.number <= top ? first.cells.get(left) : undefined;
      const isTitle = left <= leftmost && right >= rightmost && used.length > mostTitledColumns;
      if (text === undefined || isTitle) continue;
      const from = firstAtLeast(used.length, (i) => used[i]! >= left);
      for (let i = start; i < rows.length && rows[i]!.number <= bottom; i++) {
        for (let j = from; j < used.length && used[j]! <= right; j++) {
          this.filled++;
          this.length += text.length;
          if (this.filled > mostMergedCells || this.length > mostTextCharacters) return;
          const { cells } = rows[i]!;
          if (!cells.has(used[j]!)) cells.set(used[j]!, text);
        }
      }
    }
  }
}

/** Index of the first of `length` sorted items that is far enough, by binary search. */
function firstAtLeast(length: number, isFarEnough: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (isFarEnough(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function rowsOf({ rows, columns }: Sheet): string[][] {
  const filled = rows.reduce((sum, { cells, times }) => sum + cells.size * times, 0);
  const positions = rows.reduce((sum, { times }) => sum + times, 0) * columns.size;
  const isSparse = positions > maxPositions && positions > filled * maxPositionsPerCell;
  const all = inOrder(columns);
  return rows.flatMap(({ cells, times }) => {
    const shown = isSparse ? inOrder(cells.keys()) : all;
    return new Array<string[]>(times).fill(shown.map((column) => cells.get(column) ?? ''));
  });
}

function inOrder(columns: Iterable<number>): number[] {
  return [...columns].toSorted((a, b) => a - b);
}
