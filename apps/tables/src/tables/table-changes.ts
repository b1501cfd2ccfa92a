import { isDeepStrictEqual } from 'node:util';
import { mergeEntries, ownEntry } from '@parley/contracts/entries';
import { ApiError } from '@parley/contracts/errors';
import { maxTags, type TableDraft, type UpdateTable } from '@parley/contracts/tables/table-definition';
import type { TableSchema } from '@parley/contracts/tables/table-schema';
import { computedColumns } from '../schema/column-dependencies';
import { show } from '../schema/column-names';
import { columnsOf, isComparable } from '../schema/columns';
import { changeSchema, createSchema } from '../schema/table-schema';
import type { TableRow } from './table.entity';
import type { NewTable } from './tables.repository';

export function toNewTable(botId: string, name: string, draft: TableDraft): NewTable {
  const { schema, nextIndex } = createSchema(draft.schema);
  return {
    bot_id: botId,
    name,
    factor: draft.factor ?? 1,
    frozen: draft.frozen ?? false,
    key_column: draft.keyColumn ?? null,
    schema,
    next_index: nextIndex,
    tags: draft.tags ?? {},
    is_compute_enabled: draft.isComputeEnabled ?? true,
  };
}

export interface ChangedColumns {
  staleColumns: string[];
  emptied: string[];
}

/** Applies the update to the table. Throws InvalidPayload. */
export function applyTableChange(before: TableRow, input: UpdateTable): ChangedColumns & { table: TableRow } {
  const current = { schema: before.schema, nextIndex: before.next_index };
  const change = input.schema ? changeSchema(current, input.schema) : { ...current, staleColumns: [], emptied: [] };
  const table: TableRow = {
    ...before,
    name: input.name ?? before.name,
    factor: input.factor ?? before.factor,
    frozen: input.frozen ?? before.frozen,
    key_column: input.keyColumn === undefined ? before.key_column : input.keyColumn,
    schema: change.schema,
    next_index: change.nextIndex,
    tags: mergeEntries(before.tags, input.tags),
    is_compute_enabled: input.isComputeEnabled ?? before.is_compute_enabled,
  };
  checkKeyColumn(table);
  if (table.factor < before.factor)
    throw new ApiError('InvalidPayload', `factor must be at least ${before.factor}: it cannot be reduced.`);
  if (Object.keys(table.tags).length > maxTags)
    throw new ApiError('InvalidPayload', `tags must have at most ${maxTags} entries.`);
  const isComputedAgain = table.is_compute_enabled && !before.is_compute_enabled;
  const staleColumns = isComputedAgain
    ? computedColumns(columnsOf(table)).map(({ name }) => name)
    : change.staleColumns;
  return { table, staleColumns, emptied: change.emptied };
}

export function checkKeyColumn({ key_column, schema }: { key_column: string | null; schema: TableSchema }): void {
  if (key_column === null) return;
  const column = ownEntry(schema.properties, key_column);
  if (column?.['x-zui'].computed)
    throw new ApiError(
      'InvalidPayload',
      `keyColumn must not be a computed column, but "${show(key_column)}" is computed.`,
    );
  if (column && isComparable(column)) return;
  throw new ApiError(
    'InvalidPayload',
    `keyColumn must be a column of the table of type string, number or boolean; "${show(key_column)}" is not.`,
  );
}

/** A frozen table can change anything except its name, columns and key column. */
export function refuseFrozenChange(before: TableRow, after: TableRow): void {
  const isSame =
    before.name === after.name &&
    before.key_column === after.key_column &&
    isDeepStrictEqual(before.schema, after.schema);
  if (isSame) return;
  throw new ApiError(
    'ResourceLockedConflict',
    `The table "${before.name}" is frozen: its name, columns and keyColumn cannot change. Set frozen to false first.`,
  );
}
