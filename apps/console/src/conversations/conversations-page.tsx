import { Group, Table, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { More, Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { Tags } from '../parts/tags';
import { conversationsQuery } from './queries';

const route = '/w/$workspaceId/bots/$botId/conversations';
const textFilters = [
  { name: 'integrationName', label: 'Integration', placeholder: 'Any' },
  { name: 'channel', label: 'Channel', placeholder: 'Any' },
  { name: 'tag', label: 'Tag', placeholder: 'name=value' },
] as const;
const dayFilters = [
  { name: 'after', label: 'Changed from' },
  { name: 'before', label: 'Changed until' },
] as const;
const day = /^\d{4}-\d{2}-\d{2}$/;

export function ConversationsPage() {
  const { workspaceId, botId } = useParams({ from: route });
  const { integrationName, channel, tag, after, before } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const filters = { integrationName, channel, tag, after: dayIn(after), before: dayIn(before) };
  const isFiltered = Object.values(filters).some((value) => value !== undefined);
  const query = useInfiniteQuery(conversationsQuery(botId, filters));
  const change = (name: string, value: string) =>
    void navigate({ search: (former) => ({ ...former, [name]: value || undefined }), replace: true });
  return (
    <Page title="Conversations">
      <Group>
        {textFilters.map(({ name, ...labels }) => (
          <TextInput
            key={name}
            {...labels}
            defaultValue={filters[name] ?? ''}
            onBlur={(event) => change(name, event.currentTarget.value)}
            onKeyDown={(event) => event.key === 'Enter' && change(name, event.currentTarget.value)}
          />
        ))}
        {dayFilters.map(({ name, label }) => (
          <TextInput
            key={name}
            type="date"
            label={label}
            value={filters[name] ?? ''}
            onChange={(event) => change(name, event.currentTarget.value)}
          />
        ))}
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const conversations = pages.flatMap((page) => page.conversations);
          if (conversations.length === 0 && isFiltered)
            return <Empty title="No conversation matches these filters">Empty a filter to see more.</Empty>;
          if (conversations.length === 0)
            return (
              <Empty title="No conversations">They begin when somebody writes to the bot through a channel.</Empty>
            );
          return (
            <Rows label="Conversations" columns={['Changed', 'Integration', 'Channel', 'Messages', 'Tags']}>
              {conversations.map(({ id, updatedAt, integration, channel: channelName, messageCount, tags }) => (
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
                  <Table.Td>
                    <Tags tags={tags} />
                  </Table.Td>
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

/** Days come from the address, where anything may stand. */
function dayIn(text: string | undefined): string | undefined {
  return text !== undefined && day.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined;
}
