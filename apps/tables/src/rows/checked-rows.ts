import type { CheckedRow } from '../tables/row-validator';
import type { Remarks } from './remarks';
import { Turn } from './turn';

type Row = Record<string, unknown>;

export async function checkRows(
  rows: Row[],
  check: (row: Row) => CheckedRow | string,
  remarks: Remarks,
): Promise<(CheckedRow & { place: number })[]> {
  const fit: (CheckedRow & { place: number })[] = [];
  const turn = new Turn();
  for (const [place, row] of rows.entries()) {
    const checked = check(row);
    if (typeof checked === 'string') remarks.refuse(place, checked);
    else {
      checked.warnings.forEach((warning) => remarks.warn(place, warning));
      fit.push({ ...checked, place });
    }
    if (turn.isOver) await turn.next();
  }
  return fit;
}
