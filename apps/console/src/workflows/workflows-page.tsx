import { Button, Group, Select, Stack, Table, Text } from '@mantine/core';
import type { Workflow } from '@botpress/client';
import { infiniteQueryOptions, useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { clientOf } from '../api/client';
import { Empty } from '../parts/empty';
import { Detail } from '../parts/detail';
import { Json } from '../parts/json';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { More, Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Time } from '../parts/time';

const route = '/w/$workspaceId/bots/$botId/workflows';
const statuses = [
  'pending',
  'in_progress',
  'listening',
  'paused',
  'completed',
  'failed',
  'timedout',
  'cancelled',
] as const;

const workflowsQuery = (botId: string, status: (typeof statuses)[number] | undefined) =>
  infiniteQueryOptions({
    queryKey: [botId, 'workflows', status],
    queryFn: ({ pageParam }) =>
      clientOf({ botId }).listWorkflows({ statuses: status && [status], nextToken: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
  });

export function WorkflowsPage() {
  const { botId } = useParams({ from: route });
  const search = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const [shown, setShown] = useState<Workflow>();
  const status = statuses.find((known) => known === search.status);
  const query = useInfiniteQuery(workflowsQuery(botId, status));
  return (
    <Page title="Workflows">
      <Group>
        <Select
          label="Status"
          placeholder="Any"
          clearable
          data={statuses.map((value) => ({ value, label: value.replace('_', ' ') }))}
          value={status ?? null}
          onChange={(value) => void navigate({ search: { status: value ?? undefined }, replace: true })}
        />
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const workflows = pages.flatMap((page) => page.workflows);
          if (workflows.length === 0) return <Empty title="No workflows">The code of the bot starts workflows.</Empty>;
          return (
            <Rows label="Workflows" columns={['Name', 'Status', 'Created', 'Reason', 'Detail']}>
              {workflows.map((workflow) => (
                <Table.Tr key={workflow.id}>
                  <Table.Td>{workflow.name}</Table.Td>
                  <Table.Td>
                    <Status value={workflow.status} />
                  </Table.Td>
                  <Table.Td>
                    <Time at={workflow.createdAt} />
                  </Table.Td>
                  <Table.Td>{workflow.failureReason}</Table.Td>
                  <Table.Td>
                    <Button size="compact-sm" variant="default" onClick={() => setShown(workflow)}>
                      Show
                    </Button>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          );
        }}
      </Loaded>
      <More query={query} />
      <Detail title={shown?.name} onClose={() => setShown(undefined)}>
        {shown && (
          <Stack gap="sm">
            {shown.failureReason && <Text>{shown.failureReason}</Text>}
            <Json label="Workflow" value={shown} />
          </Stack>
        )}
      </Detail>
    </Page>
  );
}
