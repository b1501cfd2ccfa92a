import { isRecord } from '@parley/contracts/is-record';
import {
  type CellOutcome,
  type ComputedCells,
  recomputeAction,
  type RowToCompute,
} from '@parley/contracts/tables/computations';

/** Answers share events of 256 kB. No table takes a larger row. */
const maxRowBytes = 150_000;
const maxBytesTogether = 200_000;

/**
 * Outcomes of the requested rows in the output of `tablesRecomputeRows`:
 * `{ isFinished, rows: [{ id, <column>: { status: 'computed', value } | { status: 'error', error } }] }`.
 * Rows and columns that are missing were not computed yet, and are an error if the action has finished.
 */
export function cellsIn(output: Record<string, unknown>, requested: RowToCompute[]): ComputedCells[] {
  const rows: unknown[] = Array.isArray(output['rows']) ? output['rows'] : [];
  return requested.map((request) => {
    const answered = rows.find((row) => isRecord(row) && row['id'] === request.row.id) as Record<string, unknown>;
    const cells = request.columns.flatMap((name): [string, CellOutcome][] => {
      const cell = answered && Object.hasOwn(answered, name) ? answered[name] : undefined;
      if (cell !== undefined) return [[name, outcomeIn(cell)]];
      if (output['isFinished'] !== true) return [];
      return [
        [name, { error: `The action ${recomputeAction} of the bot has finished without an answer for this cell.` }],
      ];
    });
    return toComputedCells(request, Object.fromEntries(cells));
  });
}

/** The same error in all cells. */
export function failedCells(requested: RowToCompute[], error: string): ComputedCells[] {
  return requested.map((request) =>
    toComputedCells(request, Object.fromEntries(request.columns.map((name) => [name, { error }]))),
  );
}

/** Splits the answer into events that are not too large. */
export function inEvents(rows: ComputedCells[]): ComputedCells[][] {
  const events: ComputedCells[][] = [];
  let bytes = Infinity;
  for (const row of rows) {
    const size = Buffer.byteLength(JSON.stringify(row));
    if (bytes + size > maxBytesTogether) {
      events.push([]);
      bytes = 0;
    }
    events.at(-1)!.push(row);
    bytes += size;
  }
  return events;
}

function toComputedCells(request: RowToCompute, cells: Record<string, CellOutcome>): ComputedCells {
  const { row, columns, version } = request;
  const bytes = Buffer.byteLength(JSON.stringify(cells));
  if (bytes <= maxRowBytes) return { rowId: row.id, columns, version, cells };
  const [computed] = failedCells(
    [request],
    `The row is too large: its computed columns have ${bytes} bytes of JSON, at most ${maxRowBytes} are possible.`,
  );
  return computed!;
}

function outcomeIn(cell: unknown): CellOutcome {
  if (!isRecord(cell))
    return { error: `The action ${recomputeAction} must answer {"status":"computed","value":…} for this cell.` };
  const { status, value = null, error } = cell;
  if (status === 'computed') return { value };
  return { error: typeof error === 'string' && error !== '' ? error.slice(0, 1_000) : 'The bot gives no reason.' };
}
