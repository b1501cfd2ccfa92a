import { Button, Group, Stack, Text } from '@mantine/core';
import type { Row, Table } from '@botpress/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { Detail } from '../parts/detail';
import { Empty } from '../parts/empty';
import { Failure } from '../parts/failure';
import { FilterInput } from '../parts/filter-input';
import { Loaded } from '../parts/loaded';
import { columnsOf } from './columns';
import { type Filter, readFilter, toApiFilter } from './filter';
import { FilterBuilder } from './filter-builder';
import { Grid, maxRows } from './grid';
import { countQuery, type RowsInput } from './queries';
import { RowForm } from './row-form';

const route = '/w/$workspaceId/bots/$botId/tables/$tableId';

interface Props {
  botId: string;
  table: Table;
  canWrite: boolean;
  counts: { rows: number; stale: number; indexing: number };
}

interface OpenRow {
  /** Absent for a new row. */
  row?: Row;
  column?: string;
}

/** Grid of the rows with search, filter and sorting, all of which are in the address of the page. */
export function TableRows({ botId, table, canWrite, counts }: Props) {
  const columns = useMemo(() => columnsOf(table), [table]);
  const { filter: filterText, search, orderBy, orderDirection } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const [opened, setOpened] = useState<OpenRow>();
  const [problem, setProblem] = useState<unknown>();
  const change = (next: Record<string, string | undefined>) =>
    void navigate({ search: (former) => ({ ...former, ...next }), replace: true });

  const filter = readFilter(filterText);
  const input = useMemo(
    (): RowsInput => ({
      filter: toApiFilter(readFilter(filterText), columns),
      search,
      orderBy: search === undefined ? orderBy : undefined,
      orderDirection: orderDirection === 'desc' ? 'desc' : 'asc',
    }),
    [filterText, search, orderBy, orderDirection, columns],
  );
  const applyFilter = (next: Filter) => {
    try {
      toApiFilter(next, columns);
      setProblem(undefined);
      change({ filter: next.conditions.length === 0 ? undefined : JSON.stringify(next) });
    } catch (error) {
      setProblem(error);
    }
  };
  const scope = { botId, table: table.id };
  const count = useQuery(countQuery(scope, input));
  const isSearchable = columns.some((column) => column.isSearchable);
  return (
    <Stack>
      <Group align="end">
        {isSearchable && (
          <FilterInput
            label="Search by meaning"
            description="The most similar rows come first"
            value={search}
            onApply={(text) => change({ search: text })}
          />
        )}
        <FilterBuilder columns={columns} filter={filter} onApply={applyFilter} />
        {canWrite && <Button onClick={() => setOpened({})}>Add a row</Button>}
      </Group>
      {problem !== undefined && <Failure error={problem} />}
      <Counts {...counts} total={count.data} />
      <Loaded query={count}>
        {(total) =>
          total === 0 ? (
            <Empty title={input.filter ? 'No row matches this filter' : 'No rows'}>
              {emptyHint(input.filter !== undefined, canWrite)}
            </Empty>
          ) : (
            <Grid
              key={JSON.stringify(input)}
              scope={scope}
              label={`Rows of ${table.name}`}
              columns={columns}
              input={input}
              total={total}
              canWrite={canWrite}
              onOrder={(column, direction) => change({ orderBy: column, orderDirection: direction })}
              onOpen={(row, column) => setOpened({ row, column })}
            />
          )
        }
      </Loaded>
      <Detail title={opened && titleOf(opened)} onClose={() => setOpened(undefined)}>
        {opened && (
          <RowForm
            scope={scope}
            columns={columns}
            row={opened.row}
            focusedColumn={opened.column}
            canWrite={canWrite}
            onDone={() => setOpened(undefined)}
          />
        )}
      </Detail>
    </Stack>
  );
}

function Counts({ rows, stale, indexing, total = rows }: Props['counts'] & { total?: number }) {
  const facts = [
    total === rows ? `Rows: ${shown(rows)}` : `Rows: ${shown(total)} of ${shown(rows)}`,
    total > maxRows && `of which the first ${shown(maxRows)} are shown`,
    stale > 0 && `being computed: ${shown(stale)}`,
    indexing > 0 && `not yet found by search: ${shown(indexing)}`,
  ];
  return (
    <Text size="sm" c="dimmed" role="status">
      {facts.filter(Boolean).join(', ')}
    </Text>
  );
}

function shown(count: number): string {
  return count.toLocaleString();
}

function titleOf({ row }: OpenRow): string {
  return row ? `Row ${row.id}` : 'New row';
}

function emptyHint(isFiltered: boolean, canWrite: boolean): string {
  if (isFiltered) return 'Change or remove a condition of the filter.';
  return canWrite ? 'Add a row, or import a CSV file.' : 'Rows appear here when the bot or a developer adds some.';
}
