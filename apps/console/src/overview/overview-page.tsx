import { Group, Paper, SimpleGrid, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { botsQuery, operatorQuery } from '../api/queries';
import { DayChart } from '../parts/day-chart';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Section } from '../parts/section';
import { Time } from '../parts/time';
import { PlatformQueues } from './platform-queues';
import { failuresQuery, healthQuery, type ShownUsage, shownUsages, usageQuery } from './queries';
import { Waiting } from './waiting';

export function OverviewPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId/' });
  const { data: isOperator } = useQuery(operatorQuery);
  return (
    <Page title="Overview" aside={<Health />}>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        {shownUsages.map(({ type, label }) => (
          <Usage key={type} workspaceId={workspaceId} type={type} label={label} />
        ))}
      </SimpleGrid>
      <Waiting workspaceId={workspaceId} />
      {isOperator && <PlatformQueues workspaceId={workspaceId} />}
      <Failures workspaceId={workspaceId} />
    </Page>
  );
}

function Health() {
  const { data: isReady } = useQuery(healthQuery);
  if (isReady === undefined) return null;
  return (
    <Group gap="xs">
      <Text size="sm">Platform</Text>
      <Status value={isReady ? 'ready' : 'not_ready'} />
    </Group>
  );
}

function Usage({ workspaceId, type, label }: { workspaceId: string } & ShownUsage) {
  const query = useQuery(usageQuery(workspaceId, type));
  return (
    <Paper withBorder p="md">
      <Title order={2} size="h5" mb="sm">
        {label}
      </Title>
      <Loaded query={query}>{(days) => <DayChart label={label} days={days} />}</Loaded>
    </Paper>
  );
}

function Failures({ workspaceId }: { workspaceId: string }) {
  const bots = useQuery(botsQuery(workspaceId));
  const query = useQuery({ ...failuresQuery(workspaceId, bots.data ?? []), enabled: bots.data !== undefined });
  return (
    <Section title="Events that failed lately">
      <Loaded query={query}>
        {(events) =>
          events.length === 0 ? (
            <Empty title="No event has failed" />
          ) : (
            <Rows label="Events that failed lately" columns={['Time', 'Bot', 'Type', 'Reason']}>
              {events.map(({ bot, event }) => (
                <Table.Tr key={event.id}>
                  <Table.Td>
                    <Time at={event.createdAt} />
                  </Table.Td>
                  <Table.Td>
                    <PageLink
                      to="/w/$workspaceId/bots/$botId/events"
                      params={{ workspaceId, botId: bot.id }}
                      search={{ status: 'failed' }}
                    >
                      {bot.name || bot.id}
                    </PageLink>
                  </Table.Td>
                  <Table.Td>{event.type}</Table.Td>
                  <Table.Td>{event.failureReason}</Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Section>
  );
}
