import { Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { botsQuery } from '../api/queries';
import { Loaded } from '../parts/loaded';
import { PageLink } from '../parts/page-link';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { countedFiles, maxWaitingBots, refreshMs, waitingQuery } from './queries';

const columns = ['Bot', 'Events pending', 'Parked', 'Reason', 'Files being indexed'];

/** Events and files of the bots of a workspace that wait. */
export function Waiting({ workspaceId }: { workspaceId: string }) {
  // A bot that was created since the page opened may wait, too.
  const bots = useQuery({ ...botsQuery(workspaceId), refetchInterval: refreshMs });
  const query = useQuery({ ...waitingQuery(workspaceId, bots.data ?? []), enabled: bots.data !== undefined });
  const isPart = (bots.data?.length ?? 0) > maxWaitingBots;
  return (
    <Section title="Waiting events and files">
      <Loaded query={query}>
        {(waiting) =>
          waiting.length === 0 ? (
            <Text size="sm">No event waits for a bot, and no file is being indexed.</Text>
          ) : (
            <Rows label="Waiting events and files" columns={columns}>
              {waiting.map(({ id, name, pending, parked, reason, indexing }) => (
                <Table.Tr key={id}>
                  <Table.Td>{name || id}</Table.Td>
                  <Table.Td>
                    <PageLink
                      to="/w/$workspaceId/bots/$botId/events"
                      params={{ workspaceId, botId: id }}
                      search={{ status: 'pending' }}
                      aria-label={`${pending} events pending of ${name || id}`}
                    >
                      {pending}
                    </PageLink>
                  </Table.Td>
                  <Table.Td>{parked}</Table.Td>
                  <Table.Td>{reason}</Table.Td>
                  <Table.Td>
                    <PageLink
                      to="/w/$workspaceId/bots/$botId/files"
                      params={{ workspaceId, botId: id }}
                      aria-label={`${indexing} files of ${name || id} being indexed`}
                    >
                      {indexing}
                    </PageLink>
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
      <Text size="sm" c="dimmed">
        Parked events wait for a change of the bot. The newest {countedFiles} files of each bot are counted
        {isPart && `, and the ${maxWaitingBots} bots that changed last`}.
      </Text>
    </Section>
  );
}
