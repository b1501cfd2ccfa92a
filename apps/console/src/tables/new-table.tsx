import { Button, Checkbox, CloseButton, Fieldset, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { clientOf } from '../api/client';
import { Failure } from '../parts/failure';
import { tablesKey } from './queries';

interface Draft {
  number: number;
  name: string;
  type: string;
  isSearchable: boolean;
}

const types = [
  { value: 'text', label: 'Text', schema: { type: 'string' } },
  { value: 'number', label: 'Number', schema: { type: 'number' } },
  { value: 'boolean', label: 'Yes or no', schema: { type: 'boolean' } },
  { value: 'date', label: 'Date and time', schema: { type: 'string', format: 'date-time' } },
  { value: 'object', label: 'JSON object', schema: { type: 'object' } },
  { value: 'array', label: 'JSON list', schema: { type: 'array' } },
];

const maxColumns = 20;

const draft = (number: number): Draft => ({ number, name: '', type: 'text', isSearchable: false });

/** JSON Schema of the columns. A searchable column is one that `search` compares by meaning. */
function schemaOf(columns: Draft[]): Record<string, unknown> {
  const repeated = columns.find(({ name }, index) => columns.findIndex((other) => other.name === name) < index);
  if (repeated) throw new Error(`Two columns have the name "${repeated.name}": rename one of them.`);
  const properties = columns.map(({ name, type, isSearchable }) => {
    const { schema } = types.find(({ value }) => value === type)!;
    return [name, isSearchable ? { ...schema, 'x-zui': { searchable: true } } : schema] as const;
  });
  return { type: 'object', properties: Object.fromEntries(properties) };
}

export function NewTable({ botId, onCreated }: { botId: string; onCreated: (tableId: string) => void }) {
  const [name, setName] = useState('');
  const [columns, setColumns] = useState([draft(1)]);
  const queries = useQueryClient();
  const creation = useMutation({
    mutationFn: async () => (await clientOf({ botId }).createTable({ name, schema: schemaOf(columns) })).table,
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: tablesKey(botId) });
      onCreated(id);
    },
  });
  const change = (number: number, next: Partial<Draft>) =>
    setColumns((former) => former.map((known) => (known.number === number ? { ...known, ...next } : known)));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    creation.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label="Name of the table"
          description="Letters, digits and underscores"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          required
          data-autofocus
        />
        <Fieldset legend="Columns">
          <Stack gap="sm">
            {columns.map(({ number, name: column, type, isSearchable }, index) => (
              <Group key={number} align="end">
                <TextInput
                  label={`Column ${index + 1}`}
                  value={column}
                  onChange={(event) => change(number, { name: event.currentTarget.value })}
                  required
                  flex={1}
                  miw={140}
                />
                <NativeSelect
                  label={`Type ${index + 1}`}
                  data={types.map(({ value, label }) => ({ value, label }))}
                  value={type}
                  onChange={(event) => change(number, { type: event.currentTarget.value })}
                />
                <Checkbox
                  label="Searchable"
                  aria-label={`Column ${index + 1} is searchable`}
                  checked={isSearchable}
                  onChange={(event) => change(number, { isSearchable: event.currentTarget.checked })}
                  pb={8}
                />
                <CloseButton
                  size="lg"
                  aria-label={`Remove column ${index + 1}`}
                  disabled={columns.length === 1}
                  onClick={() => setColumns((former) => former.filter((known) => known.number !== number))}
                />
              </Group>
            ))}
            <Group>
              <Button
                variant="default"
                disabled={columns.length >= maxColumns}
                onClick={() => setColumns((former) => [...former, draft(former.at(-1)!.number + 1)])}
              >
                Add a column
              </Button>
            </Group>
          </Stack>
        </Fieldset>
        {creation.isError && <Failure error={creation.error} />}
        <Group justify="end">
          <Button type="submit" loading={creation.isPending}>
            Create the table
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
