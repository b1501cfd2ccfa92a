import { Button, CloseButton, Group, NativeSelect, Popover, Stack, Text } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import type { ShownColumn } from './columns';
import { type Condition, type Filter, noFilter, operators, operatorsOf } from './filter';
import { ValueInput } from './value-input';

interface Props {
  columns: ShownColumn[];
  filter: Filter;
  onApply: (filter: Filter) => void;
}

/** Dialog that builds a filter of conditions; the filter counts when it is applied. */
export function FilterBuilder({ columns, filter, onApply }: Props) {
  const [isOpen, setIsOpen] = useState(false);
  const [draft, setDraft] = useState(filter);
  const { match, conditions } = draft;

  const newCondition = (name: string): Condition => {
    const { kind } = columns.find((column) => column.name === name)!;
    return { column: name, operator: operatorsOf(kind)[0]!.value, text: '' };
  };
  const replace = (index: number, next: Condition) =>
    setDraft({ match, conditions: conditions.map((known, at) => (at === index ? next : known)) });
  const add = () => setDraft({ match, conditions: [...conditions, newCondition(columns[1]?.name ?? 'id')] });
  const toggle = () => {
    const first = newCondition(columns[1]?.name ?? 'id');
    setDraft(filter.conditions.length === 0 ? { match: filter.match, conditions: [first] } : filter);
    setIsOpen(!isOpen);
  };
  const apply = (event: FormEvent) => {
    event.preventDefault();
    setIsOpen(false);
    onApply(draft);
  };
  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="bottom-start" trapFocus withinPortal={false} shadow="md">
      <Popover.Target>
        <Button variant="default" onClick={toggle}>
          {filter.conditions.length === 0 ? 'Filter' : `Filter (${filter.conditions.length})`}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Filter" maw="calc(100vw - 2rem)">
        <form onSubmit={apply}>
          <Stack gap="sm">
            <Group>
              <Text size="sm">Rows that satisfy</Text>
              <NativeSelect
                aria-label="Combination of the conditions"
                data={[
                  { value: 'all', label: 'all conditions' },
                  { value: 'any', label: 'any condition' },
                ]}
                value={match}
                onChange={(event) =>
                  setDraft({ conditions, match: event.currentTarget.value === 'any' ? 'any' : 'all' })
                }
              />
            </Group>
            {conditions.map((condition, index) => (
              <ConditionFields
                key={index}
                number={index + 1}
                columns={columns}
                condition={condition}
                onChange={(next) => replace(index, next.column === condition.column ? next : newCondition(next.column))}
                onRemove={() => setDraft({ match, conditions: conditions.filter((_known, at) => at !== index) })}
              />
            ))}
            <Group>
              <Button variant="default" size="compact-sm" onClick={add}>
                Add a condition
              </Button>
            </Group>
            <Group justify="end">
              <Button
                variant="default"
                onClick={() => {
                  setIsOpen(false);
                  onApply(noFilter);
                }}
              >
                Show all rows
              </Button>
              <Button type="submit">Apply</Button>
            </Group>
          </Stack>
        </form>
      </Popover.Dropdown>
    </Popover>
  );
}

interface ConditionProps {
  number: number;
  columns: ShownColumn[];
  condition: Condition;
  onChange: (next: Condition) => void;
  onRemove: () => void;
}

function ConditionFields({ number, columns, condition, onChange, onRemove }: ConditionProps) {
  const column = columns.find(({ name }) => name === condition.column);
  if (!column) return null;
  return (
    <Group align="end" gap="xs">
      <NativeSelect
        label={`Column ${number}`}
        data={columns.map(({ name }) => name)}
        value={condition.column}
        onChange={(event) => onChange({ ...condition, column: event.currentTarget.value })}
      />
      <NativeSelect
        label={`Comparison ${number}`}
        data={operatorsOf(column.kind)}
        value={condition.operator}
        onChange={(event) => onChange({ ...condition, operator: event.currentTarget.value })}
      />
      {operators[condition.operator]?.needsText && (
        <ValueInput
          column={column}
          label={`Value ${number}`}
          text={condition.text}
          onChange={(text) => onChange({ ...condition, text })}
        />
      )}
      <CloseButton size="lg" aria-label={`Remove condition ${number}`} onClick={onRemove} />
    </Group>
  );
}
