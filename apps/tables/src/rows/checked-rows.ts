import type { CheckedRow } from '../schema/row-validator';
import type { RowProblems } from './row-problems';
import { TimeSlice } from './time-slice';

type Row = Record<string, unknown>;

export async function checkRows(
  rows: Row[],
  check: (row: Row) => CheckedRow | string,
  remarks: RowProblems,
): Promise<(CheckedRow & { place: number })[]> {
  const fit: (CheckedRow & { place: number })[] = [];
  const turn = new TimeSlice();
  for (const [place, row] of rows.entries()) {
    const checked = check(row);
    if (typeof checked === 'string') remarks.refuse(place, checked);
    else {
      checked.warnings.forEach((warning) => remarks.warn(place, warning));
      fit.push({ ...checked, place });
    }
    if (turn.isOver) await turn.yieldToEventLoop();
  }
  return fit;
}
