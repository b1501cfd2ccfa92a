import type { CheckedRow } from '../schema/row-validator';
import type { RowProblems } from './row-problems';
import { TimeSlice } from './time-slice';

type Row = Record<string, unknown>;

export async function checkRows(
  rows: Row[],
  check: (row: Row) => CheckedRow | string,
  problems: RowProblems,
): Promise<(CheckedRow & { position: number })[]> {
  const fit: (CheckedRow & { position: number })[] = [];
  const slice = new TimeSlice();
  for (const [position, row] of rows.entries()) {
    const checked = check(row);
    if (typeof checked === 'string') problems.refuse(position, checked);
    else {
      checked.warnings.forEach((warning) => problems.warn(position, warning));
      fit.push({ position, ...checked });
    }
    if (slice.isOver) await slice.yieldToEventLoop();
  }
  return fit;
}
