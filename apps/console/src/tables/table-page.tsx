import { Button, Group, Tabs } from '@mantine/core';
import type { Table } from '@botpress/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { clientOf } from '../api/client';
import { useCan } from '../api/role';
import { Failure } from '../parts/failure';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { Jobs } from './jobs';
import { tableQuery, tablesKey } from './queries';
import { Schema } from './schema';
import { TableRows } from './table-rows';

export function TablePage() {
  const { workspaceId, botId, tableId } = useParams({ from: '/w/$workspaceId/bots/$botId/tables/$tableId' });
  const scope = { botId, table: tableId };
  const query = useQuery(tableQuery(scope));
  const canWrite = useCan(workspaceId, 'write');
  return (
    <Page
      title={query.data?.table.name ?? 'Table'}
      aside={
        canWrite &&
        query.data && (
          <Deletion workspaceId={workspaceId} botId={botId} table={query.data.table} rows={query.data.rows} />
        )
      }
    >
      <Loaded query={query}>
        {({ table, rows, stale, indexing }) => (
          <Tabs defaultValue="rows" keepMounted={false}>
            <Tabs.List mb="md">
              <Tabs.Tab value="rows">Rows</Tabs.Tab>
              <Tabs.Tab value="schema">Schema</Tabs.Tab>
              {canWrite && <Tabs.Tab value="jobs">Import and export</Tabs.Tab>}
            </Tabs.List>
            <Tabs.Panel value="rows">
              <TableRows botId={botId} table={table} canWrite={canWrite} counts={{ rows, stale, indexing }} />
            </Tabs.Panel>
            <Tabs.Panel value="schema">
              <Schema table={table} />
            </Tabs.Panel>
            <Tabs.Panel value="jobs">
              <Jobs scope={scope} />
            </Tabs.Panel>
          </Tabs>
        )}
      </Loaded>
    </Page>
  );
}

interface DeletionProps {
  workspaceId: string;
  botId: string;
  table: Table;
  rows: number;
}

function Deletion({ workspaceId, botId, table: { id, name }, rows }: DeletionProps) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const deletion = useMutation({
    mutationFn: () => clientOf({ botId }).deleteTable({ table: id }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: tablesKey(botId) });
      await navigate({ to: '/w/$workspaceId/bots/$botId/tables', params: { workspaceId, botId } });
    },
  });
  return (
    <Group>
      {deletion.isError && <Failure error={deletion.error} />}
      <Button
        color="red"
        variant="light"
        loading={deletion.isPending}
        onClick={() => {
          if (window.confirm(`Delete the table "${name}" and its ${rows} rows?`)) deletion.mutate();
        }}
      >
        Delete the table
      </Button>
    </Group>
  );
}
