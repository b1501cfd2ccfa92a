import { Group, Table, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { More, Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { conversationsQuery } from './queries';

const route = '/w/$workspaceId/bots/$botId/conversations';
const filterNames = { integrationName: 'Integration', channel: 'Channel' } as const;

export function ConversationsPage() {
  const { workspaceId, botId } = useParams({ from: route });
  const { integrationName, channel } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const filters = { integrationName, channel };
  const query = useInfiniteQuery(conversationsQuery(botId, filters));
  const change = (name: string, value: string) =>
    void navigate({ search: (former) => ({ ...former, [name]: value || undefined }), replace: true });
  return (
    <Page title="Conversations">
      <Group>
        {(['integrationName', 'channel'] as const).map((name) => (
          <TextInput
            key={name}
            label={filterNames[name]}
            placeholder="Any"
            defaultValue={filters[name] ?? ''}
            onBlur={(event) => change(name, event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Enter' && change(name, event.currentTarget.value)}
          />
        ))}
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const conversations = pages.flatMap((page) => page.conversations);
          if (conversations.length === 0)
            return (
              <Empty title="No conversations">They begin when somebody writes to the bot through a channel.</Empty>
            );
          return (
            <Rows label="Conversations" columns={['Changed', 'Integration', 'Channel', 'Messages']}>
              {conversations.map(({ id, updatedAt, integration, channel: channelName, messageCount }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <PageLink
                      to="/w/$workspaceId/bots/$botId/conversations/$conversationId"
                      params={{ workspaceId, botId, conversationId: id }}
                    >
                      <Time at={updatedAt} />
                    </PageLink>
                  </Table.Td>
                  <Table.Td>{integration}</Table.Td>
                  <Table.Td>{channelName}</Table.Td>
                  <Table.Td>{messageCount}</Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          );
        }}
      </Loaded>
      <More query={query} />
    </Page>
  );
}
