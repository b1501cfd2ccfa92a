import { Group, Table, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { failedFilesQuery, lettersQuery, maxListed, stuckFilesQuery } from '../operator/queries';
import { Loaded } from '../parts/loaded';
import { PageLink } from '../parts/page-link';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { Time } from '../parts/time';
import { countedWork, countOf, platformQueuesQuery } from './queries';

const to = '/w/$workspaceId/operator';
const columns = ['Queue', 'Waiting', 'Running', 'Failed', 'Oldest'];

/** Work of all services that waits or is stuck, for owners and administrators of the operator's workspace. */
export function PlatformQueues({ workspaceId }: { workspaceId: string }) {
  const query = useQuery(platformQueuesQuery);
  return (
    <Section title="Queues of the platform">
      <Loaded query={query}>
        {({ queues, hasMore }) => (
          <>
            {queues.length === 0 ? (
              <Text size="sm">No background work waits, and none has failed.</Text>
            ) : (
              <Rows label="Queues of the platform" columns={columns}>
                {queues.map(({ queue, service, waiting, running, failed, oldestAt }) => (
                  <Table.Tr key={queue}>
                    <Table.Td>
                      <PageLink to={to} params={{ workspaceId }} search={{ service, queue, state: 'any' }}>
                        {queue}
                      </PageLink>
                    </Table.Td>
                    <Table.Td>{waiting}</Table.Td>
                    <Table.Td>{running}</Table.Td>
                    <Table.Td>{failed}</Table.Td>
                    <Table.Td>
                      <Time at={oldestAt} />
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Rows>
            )}
            {hasMore && (
              <Text size="sm" c="dimmed">
                The oldest {countedWork} of each service are counted.
              </Text>
            )}
          </>
        )}
      </Loaded>
      <Stuck workspaceId={workspaceId} />
    </Section>
  );
}

/** Counts of the other lists of the operator's page. */
function Stuck({ workspaceId }: { workspaceId: string }) {
  const letters = useQuery(lettersQuery);
  const failed = useInfiniteQuery(failedFilesQuery);
  const stuck = useInfiniteQuery(stuckFilesQuery);
  const deadLetters = letters.data?.length;
  const counts = [
    {
      tab: 'dead-letters',
      label: 'Dead letters',
      count: deadLetters && countOf(deadLetters, deadLetters >= maxListed),
    },
    { tab: 'indexing', label: 'Files that could not be indexed', count: filesOf(failed.data) },
    { tab: 'indexing', label: 'Files that wait for long', count: filesOf(stuck.data) },
  ];
  return (
    <Group gap="lg">
      {counts.map(({ tab, label, count }) => (
        <PageLink key={label} size="sm" to={to} params={{ workspaceId }} search={{ tab }}>
          {label}: {count ?? '…'}
        </PageLink>
      ))}
    </Group>
  );
}

/** Files of the first page. */
function filesOf(data?: { pages: { files: unknown[]; meta: { nextToken?: string } }[] }): string | undefined {
  const [first] = data?.pages ?? [];
  return first && countOf(first.files.length, first.meta.nextToken !== undefined);
}
