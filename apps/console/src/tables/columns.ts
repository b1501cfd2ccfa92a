import type { Row, Table } from '@botpress/client';

/** Kind of the values of a column, which decides on its editor and its filters. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'date' | 'json';

export interface ShownColumn {
  name: string;
  kind: ColumnKind;
  /** Values are assigned by the platform. */
  isReadOnly: boolean;
  isComputed: boolean;
  isSearchable: boolean;
  choices?: string[];
}

type Schema = Table['schema']['properties'][string];

const kinds: Record<Schema['type'], ColumnKind> = {
  string: 'text',
  number: 'number',
  boolean: 'boolean',
  object: 'json',
  array: 'json',
  null: 'json',
};

const assigned = { isReadOnly: true, isComputed: false, isSearchable: false };
const idColumn: ShownColumn = { name: 'id', kind: 'number', ...assigned };
const timeColumns: ShownColumn[] = [
  { name: 'createdAt', kind: 'date', ...assigned },
  { name: 'updatedAt', kind: 'date', ...assigned },
];

/** Columns of the grid in their order: the id, those of the schema that are not hidden, and the times. */
export function columnsOf({ schema }: Table): ShownColumn[] {
  const shown = Object.entries(schema.properties).filter(([, { 'x-zui': zui }]) => !zui.hidden);
  const position = ({ 'x-zui': { order, index } }: Schema) => order ?? index;
  const ofSchema = shown.sort(([, one], [, other]) => position(one) - position(other)).map(toColumn);
  return [idColumn, ...ofSchema, ...timeColumns];
}

function toColumn([name, { type, format, enum: choices, 'x-zui': zui }]: [string, Schema]): ShownColumn {
  const isComputed = zui.computed !== undefined;
  const kind = format === 'date-time' ? 'date' : kinds[type];
  return { name, kind, choices, isReadOnly: isComputed, isComputed, isSearchable: zui.searchable ?? false };
}

export interface CellState {
  status: 'pending' | 'failed';
  error?: string;
}

/** State of a computed cell that has no current value; undefined for one that has. */
export function stateOf({ isComputed, name }: ShownColumn, { computed, stale }: Row): CellState | undefined {
  if (!isComputed) return undefined;
  const { status, error } = computed[name] ?? {};
  if (status === 'failed' && !stale?.includes(name)) return { status, error };
  return status === 'pending' || stale?.includes(name) ? { status: 'pending' } : undefined;
}
