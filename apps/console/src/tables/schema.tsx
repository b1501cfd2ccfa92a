import { Stack, Table as TableParts, Text } from '@mantine/core';
import type { Table } from '@botpress/client';
import { Empty } from '../parts/empty';
import { Json } from '../parts/json';
import { Rows } from '../parts/rows';

/** Columns with their types and rules, and the whole as JSON Schema. */
export function Schema({ table: { schema, keyColumn } }: { table: Table }) {
  const columns = Object.entries(schema.properties);
  return (
    <Stack>
      {columns.length === 0 && <Empty title="No columns">Add them with updateTable.</Empty>}
      {columns.length > 0 && (
        <Rows label="Columns" columns={['Column', 'Type', 'Rules', 'Description']}>
          {columns.map(([name, column]) => (
            <TableParts.Tr key={name}>
              <TableParts.Td>{name}</TableParts.Td>
              <TableParts.Td>{column.format ?? column.type}</TableParts.Td>
              <TableParts.Td>{rulesOf(column, name === keyColumn).join(', ')}</TableParts.Td>
              <TableParts.Td>{column.description}</TableParts.Td>
            </TableParts.Tr>
          ))}
        </Rows>
      )}
      <Text size="sm" fw={500}>
        JSON Schema
      </Text>
      <Json label="JSON Schema" value={schema} />
    </Stack>
  );
}

function rulesOf(
  { nullable, enum: choices, pattern, 'x-zui': zui }: Table['schema']['properties'][string],
  isKey: boolean,
): string[] {
  return [
    isKey && 'unique',
    nullable === false && 'required',
    zui.searchable && 'searchable',
    zui.hidden && 'hidden',
    zui.computed && `computed by ${zui.computed.action}`,
    choices && `one of ${choices.join(', ')}`,
    pattern !== undefined && `matches ${pattern}`,
  ].filter((rule) => typeof rule === 'string');
}
