import { Button, Group, Input, Stack, Text } from '@mantine/core';
import type { Row } from '@botpress/client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { clientOf } from '../api/client';
import { Failure } from '../parts/failure';
import { Json } from '../parts/json';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import { toText, toValue } from './cell-text';
import { type ShownColumn, stateOf } from './columns';
import { saveRow, tableKey, type TableScope } from './queries';
import { ValueInput } from './value-input';

interface Props {
  scope: TableScope;
  columns: ShownColumn[];
  /** Absent for a new row. */
  row?: Row;
  focusedColumn?: string;
  canWrite: boolean;
  onDone: () => void;
}

/** Values of a row in editors of their types. Saves the columns that were changed. */
export function RowForm({ scope, columns, row, focusedColumn, canWrite, onDone }: Props) {
  const editable = columns.filter(({ isReadOnly }) => canWrite && !isReadOnly);
  const fixed = row ? columns.filter((column) => column.name !== 'id' && !editable.includes(column)) : [];
  const before = Object.fromEntries(editable.map(({ name, kind }) => [name, toText(kind, row?.[name])]));
  const [texts, setTexts] = useState(before);
  const [problems, setProblems] = useState<Record<string, string>>({});
  const queries = useQueryClient();
  const ended = {
    onSuccess: () => {
      onDone();
      return queries.invalidateQueries({ queryKey: tableKey(scope) });
    },
  };
  const saving = useMutation({
    mutationFn: (values: Record<string, unknown>) => saveRow(scope, values, row?.id),
    ...ended,
  });
  const deletion = useMutation({
    mutationFn: (id: number) => clientOf(scope).deleteTableRows({ table: scope.table, ids: [id] }),
    ...ended,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const changed = editable.filter(({ name }) => texts[name] !== before[name]);
    const { values, refused } = readAll(changed, texts);
    setProblems(refused);
    if (Object.keys(refused).length > 0) return;
    if (row && changed.length === 0) onDone();
    else saving.mutate(values);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        {editable.map((column, index) => (
          <ValueInput
            key={column.name}
            column={column}
            label={column.name}
            text={texts[column.name] ?? ''}
            error={problems[column.name]}
            isMultiline
            isFocused={focusedColumn === column.name || (index === 0 && !editable.some(isNamed(focusedColumn)))}
            onChange={(text) => setTexts({ ...texts, [column.name]: text })}
          />
        ))}
        {row && fixed.map((column) => <FixedValue key={column.name} column={column} row={row} />)}
        {saving.isError && <Failure error={saving.error} />}
        {deletion.isError && <Failure error={deletion.error} />}
        {canWrite && (
          <Group justify="space-between">
            {row ? (
              <Button
                color="red"
                variant="light"
                loading={deletion.isPending}
                onClick={() => {
                  if (window.confirm(`Delete row ${row.id}?`)) deletion.mutate(row.id);
                }}
              >
                Delete the row
              </Button>
            ) : (
              <span />
            )}
            <Button type="submit" loading={saving.isPending}>
              Save
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  );
}

function readAll(columns: ShownColumn[], texts: Record<string, string>) {
  const values: Record<string, unknown> = {};
  const refused: Record<string, string> = {};
  for (const { name, kind } of columns) {
    try {
      values[name] = toValue(kind, texts[name] ?? '');
    } catch (error) {
      refused[name] = (error as Error).message;
    }
  }
  return { values, refused };
}

function isNamed(name: string | undefined) {
  return (column: ShownColumn) => column.name === name;
}

function FixedValue({ column, row }: { column: ShownColumn; row: Row }) {
  const state = stateOf(column, row);
  const value: unknown = row[column.name];
  return (
    <Input.Wrapper label={column.name} labelElement="div">
      {state && (
        <Group gap="xs">
          <Status value={state.status} />
          {state.error && <Text size="sm">{state.error}</Text>}
        </Group>
      )}
      {!state && column.kind === 'json' && value !== null && <Json label={column.name} value={value} />}
      {!state && column.kind === 'date' && typeof value === 'string' && (
        <Text size="sm">
          <Time at={value} />
        </Text>
      )}
      {!state && column.kind !== 'json' && column.kind !== 'date' && (
        <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
          {toText(column.kind, value) || '–'}
        </Text>
      )}
    </Input.Wrapper>
  );
}
