import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import type { ColumnSchema, TableSchema } from '@parley/contracts/tables/table-schema';

/** The stored form of what a client sends as `schema`. Throws InvalidJsonSchema. */
export function readTableSchema(input: Record<string, unknown>): TableSchema {
  const { properties } = input;
  if (!isRecord(properties)) throw new ApiError('InvalidJsonSchema', 'schema.properties must be an object.');
  const columns = Object.entries(properties).map(([name, column], index) => [
    name,
    { ...(column as ColumnSchema), 'x-zui': { ...(column as ColumnSchema)['x-zui'], index } },
  ]);
  return {
    type: 'object',
    properties: Object.fromEntries(columns) as Record<string, ColumnSchema>,
    additionalProperties: true,
  };
}
