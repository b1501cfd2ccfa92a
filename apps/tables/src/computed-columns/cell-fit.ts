import type { CellState } from '@parley/contracts/tables/rows';
import { isNestedTooDeeply, maxLevels } from '../sandbox/nesting';
import type { TableColumn } from '../schema/columns';
import { isSearchable } from '../schema/dirty-flags';
import type { CachedTable } from '../tables/table.cache';
import type { ComputedRow, StaleRow } from './stale-rows.repository';

const maxErrorLength = 600;

export type Outcome = { value: unknown } | { error: string };

type Fitted = CellState & { value?: unknown };

/** Row whose columns are being computed: the values so far, and the result to store. */
export class RowUnderWay {
  readonly data: Record<string, unknown>;
  readonly result: ComputedRow;

  constructor(
    private readonly table: CachedTable,
    { id, revision, data }: Pick<StaleRow, 'id' | 'revision' | 'data'>,
    left: string[] = [],
  ) {
    this.data = { ...data };
    this.result = { id, revision, data: {}, emptied: [], computed: {}, left, stale: [], unindexed: false };
  }

  /** Sets the cell, or its error if the value does not fit the column or the row. */
  set(column: TableColumn, outcome: Outcome): void {
    const { key } = column;
    const { value = null, ...state } = tryToFit(this.table, column, this.data, outcome);
    if (value === null) {
      this.result.emptied.push(key);
      delete this.data[key];
    } else {
      this.data[key] = this.result.data[key] = value;
    }
    this.result.computed[key] = { ...state, updatedAt: new Date().toISOString() };
    this.result.unindexed ||= isSearchable(column);
  }
}

/** An unexpected error fails this cell only. */
function tryToFit(table: CachedTable, column: TableColumn, data: Record<string, unknown>, outcome: Outcome): Fitted {
  try {
    return fitted(table, column, data, outcome);
  } catch (error) {
    return failed(unexpected(error).error);
  }
}

function fitted(
  { validator }: CachedTable,
  { name, key }: TableColumn,
  data: Record<string, unknown>,
  outcome: Outcome,
): Fitted {
  if ('error' in outcome) return failed(outcome.error);
  if (isNestedTooDeeply(outcome.value)) return failed(`The result is nested deeper than ${maxLevels} levels.`);
  const checked = validator.checkChange({ [name]: outcome.value });
  if (typeof checked === 'string') return failed(`The result does not fit the column: ${checked}.`);
  const value = checked.data[key];
  const tooLarge = validator.wholeProblem({ ...data, [key]: value });
  if (tooLarge !== undefined) return failed(`The result does not fit the row: ${tooLarge}.`);
  return { status: 'computed', value };
}

function failed(error: string): Fitted {
  return { status: 'failed', error: error.slice(0, maxErrorLength) };
}

export function unexpected(error: unknown): { error: string } {
  return { error: `The column cannot be computed: ${(error as Error).message}` };
}
