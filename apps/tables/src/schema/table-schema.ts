import { isDeepStrictEqual } from 'node:util';
import { ownEntry } from '@parley/contracts/entries';
import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import { type ColumnSchema, maxColumns, type TableSchema } from '@parley/contracts/tables/table-schema';
import { computedColumns, dependenciesOf, reachedFrom } from './column-dependencies';
import { columnNameProblem, show } from './column-names';
import type { TableColumn } from './columns';
import { checkDependencies, readComputedSettings } from './computed-settings';
import { readSchemaInput } from './schema-input';
import { invalid, isNameList, readValueSchema, type ValueSchema } from './value-schema';

export interface IndexedSchema {
  schema: TableSchema;
  nextIndex: number;
}

export interface SchemaChange extends IndexedSchema {
  /** Columns that lost their values because they were deleted or changed their type. */
  emptied: string[];
  staleColumns: string[];
}

type Input = Record<string, unknown>;

/** Limit of schemas in a table, including nested ones: each takes part of a millisecond to compile. */
const maxDescribed = 250;
const maxSchemaBytes = 100 * 1024;
const empty: IndexedSchema = { schema: { type: 'object', properties: {}, additionalProperties: true }, nextIndex: 0 };

/** Creates the schema of a new table. Throws InvalidJsonSchema with the column and the expected value. */
export function createSchema(input: Input): IndexedSchema {
  const unclear = readSchemaInput(input).columns.find(([, column]) => column === null);
  if (unclear) throw invalid(show(unclear[0]), 'is null, so its type is unknown: give an example or a schema');
  const { schema, nextIndex } = changeSchema(empty, input);
  return { schema, nextIndex };
}

/**
 * Merges a change into a schema: replaces the given columns, deletes those given as `null`, keeps the others.
 * `required` applies to the columns in the same change. A column keeps its index, and so its values, unless they may
 * not have the new type.
 */
export function changeSchema({ schema, nextIndex }: IndexedSchema, input: Input): SchemaChange {
  const change = readSchemaInput(input);
  const isRequired = requiredAfter(schema, change);
  const columns = new Map(Object.entries(schema.properties));
  for (const [name, raw] of change.columns) {
    if (raw === null) columns.delete(name);
    else {
      const column = readColumn(name, raw, isRequired(name));
      const before = columns.get(name);
      const index = before && keepsValues(before, column) ? before['x-zui'].index : nextIndex++;
      columns.set(name, { ...column, 'x-zui': { index, ...column['x-zui'] } });
    }
  }
  const $schema = change.$schema ?? schema.$schema;
  const required = [...columns.keys()].filter(isRequired);
  const changed: TableSchema = {
    ...($schema === undefined ? {} : { $schema }),
    type: 'object',
    properties: Object.fromEntries(columns),
    additionalProperties: true,
    ...(required.length === 0 ? {} : { required }),
  };
  checkWhole(changed);
  return { schema: changed, nextIndex, ...effectsOf(schema, changed) };
}

/**
 * Renames a column, also in the dependencies of computed columns. Throws ReferenceNotFound for an unknown column,
 * AlreadyExists when another column has the name, InvalidPayload for an invalid name.
 */
export function renameColumn(schema: TableSchema, name: string, newName: string): TableSchema {
  if (!Object.hasOwn(schema.properties, name))
    throw new ApiError('ReferenceNotFound', `name: the table has no column "${show(name)}".`);
  if (name === newName) return schema;
  const problem = columnNameProblem(newName);
  if (problem) throw new ApiError('InvalidPayload', `newName ${problem}.`);
  if (Object.hasOwn(schema.properties, newName))
    throw new ApiError('AlreadyExists', `Column "${newName}" already exists.`);
  const renamed = (column: string) => (column === name ? newName : column);
  const columns = Object.entries(schema.properties).map(([column, { 'x-zui': settings, ...rest }]) => {
    const { computed } = settings;
    const followed = computed && { computed: { ...computed, dependencies: computed.dependencies.map(renamed) } };
    return [renamed(column), { ...rest, 'x-zui': { ...settings, ...followed } }];
  });
  const changed = { ...schema, properties: Object.fromEntries(columns) as TableSchema['properties'] };
  return schema.required ? { ...changed, required: schema.required.map(renamed) } : changed;
}

type UnindexedColumn = Omit<ColumnSchema, 'x-zui'> & { 'x-zui': Record<string, unknown> };

function readColumn(name: string, raw: unknown, isRequired: boolean): UnindexedColumn {
  const problem = columnNameProblem(name);
  if (problem) throw invalid(show(name), `has a name that ${problem}`);
  const { nullable = !isRequired, ...value } = readValueSchema(raw, name);
  return { ...value, nullable, 'x-zui': readSettings((raw as Input)['x-zui'], name) };
}

const settingTypes = {
  ...{ id: 'string', schemaId: 'string', typings: 'string', searchable: 'boolean', hidden: 'boolean' },
  ...{ order: 'number', width: 'number' },
};

function readSettings(raw: unknown = {}, column: string): Record<string, unknown> {
  if (!isRecord(raw)) throw invalid(`${column}.x-zui`, 'must be an object');
  const { index: _ours, computed, ...settings } = raw;
  for (const [name, type] of Object.entries(settingTypes)) {
    const value = settings[name];
    if (value !== undefined && typeof value !== type) throw invalid(`${column}.x-zui.${name}`, `must be a ${type}`);
  }
  if (computed === undefined || computed === null) return settings;
  return { ...settings, computed: readComputedSettings(computed, column) };
}

/** A date-time is a string, but not every string is a date-time. */
function keepsValues(before: ColumnSchema, after: ValueSchema): boolean {
  return before.type === after.type && (after.format === undefined || before.format === after.format);
}

function requiredAfter(schema: TableSchema, change: ReturnType<typeof readSchemaInput>): (name: string) => boolean {
  const before = new Set(schema.required);
  if (change.required === undefined) return (name) => before.has(name);
  if (!isNameList(change.required))
    throw new ApiError('InvalidJsonSchema', 'schema.required must be a list of column names.');
  const after = new Set(change.required);
  const named = new Set(change.columns.map(([name]) => name));
  return (name) => (named.has(name) ? after : before).has(name);
}

function checkWhole(schema: TableSchema): void {
  const names = Object.keys(schema.properties);
  if (names.length > maxColumns) {
    const problem = `a table has at most ${maxColumns} columns, got ${names.length}`;
    throw new ApiError('InvalidJsonSchema', `schema: ${problem}.`);
  }
  if (countDescribed(schema) > maxDescribed + 1) {
    const problem = `the columns and the values described inside of them are more than ${maxDescribed}: describe fewer values`;
    throw new ApiError('InvalidJsonSchema', `schema: ${problem}.`);
  }
  if (Buffer.byteLength(JSON.stringify(schema)) > maxSchemaBytes)
    throw new ApiError('InvalidJsonSchema', `schema must be at most ${maxSchemaBytes} bytes of JSON.`);
  checkDependencies(namedColumns(schema));
}

function countDescribed({ items, properties = {}, additionalProperties }: ValueSchema): number {
  const inside = [...Object.values(properties), ...[items ?? [], additionalProperties ?? []].flat()];
  return inside.reduce((count, schema) => count + (typeof schema === 'object' ? countDescribed(schema) : 0), 1);
}

function effectsOf(before: TableSchema, after: TableSchema): Pick<SchemaChange, 'emptied' | 'staleColumns'> {
  const emptied = Object.keys(before.properties).filter((name) => indexOf(after, name) !== indexOf(before, name));
  const [formerly, columns] = [namedColumns(before), namedColumns(after)];
  const settings = new Map(computedColumns(formerly).map(({ name, schema }) => [name, schema['x-zui'].computed]));
  const computed = computedColumns(columns);
  const changed = computed.filter(
    ({ name, schema }) =>
      indexOf(before, name) !== indexOf(after, name) ||
      !isDeepStrictEqual(settings.get(name), schema['x-zui'].computed),
  );
  // A column without dependencies depends on all columns that are not computed, before and after the change.
  const reached = reachedFrom([...emptied, ...changed.map(({ name }) => name)], computed, (column) => [
    ...dependenciesOf(column, columns),
    ...dependenciesOf(column, formerly),
  ]);
  const stale = new Set([...changed, ...reached].map(({ name }) => name));
  return { emptied, staleColumns: Object.keys(after.properties).filter((name) => stale.has(name)) };
}

type NamedColumn = Pick<TableColumn, 'name' | 'schema'>;

function namedColumns({ properties }: TableSchema): Map<string, NamedColumn> {
  return new Map(Object.entries(properties).map(([name, schema]) => [name, { name, schema }]));
}

function indexOf({ properties }: TableSchema, name: string): number | undefined {
  return ownEntry(properties, name)?.['x-zui'].index;
}
