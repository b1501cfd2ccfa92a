import { type Block, UnreadableDocument } from './block';
import { BlockWriter } from './block-writer';
import { mostCells, mostTextCharacters } from './limits';

/** Sparse tables: above this number of cells, with less than 5 % filled, empty cells are omitted. */
const maxPositions = 1_000_000;
const maxPositionsPerCell = 20;

interface Sheet {
  name: string;
  rows: Map<number, string>[];
  columns: Set<number>;
}

/**
 * Spreadsheet: each sheet becomes a title and a table with its first row as header. Empty rows and columns are left
 * out. Shared text counts each time it is shown. Throws UnreadableDocument above the limits of cells or characters.
 */
export class Sheets {
  private readonly sheets: Sheet[] = [];
  private cells = 0;
  private length = 0;

  startSheet(name: string): void {
    this.sheets.push({ name, rows: [], columns: new Set() });
  }

  addRow(cells: Map<number, string>, times = 1): void {
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
    for (let i = 0; i < times; i++) rows.push(filled);
  }

  blocks(): Block[] {
    const writer = new BlockWriter();
    for (const sheet of this.sheets) {
      if (sheet.rows.length === 0) continue;
      writer.heading(1, sheet.name);
      writer.table(rowsOf(sheet), 1);
    }
    return writer.blocks();
  }
}

function rowsOf({ rows, columns }: Sheet): string[][] {
  const filled = rows.reduce((sum, row) => sum + row.size, 0);
  const positions = rows.length * columns.size;
  if (positions > maxPositions && positions > filled * maxPositionsPerCell) return rows.map((row) => [...row.values()]);
  const inOrder = [...columns].toSorted((a, b) => a - b);
  return rows.map((row) => inOrder.map((column) => row.get(column) ?? ''));
}
