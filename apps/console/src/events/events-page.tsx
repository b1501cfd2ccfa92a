import { Group, Select, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { More } from '../parts/rows';
import { EventsTable } from './events-table';
import { eventsQuery, eventStatuses } from './queries';

const route = '/w/$workspaceId/bots/$botId/events';

export function EventsPage() {
  const { botId } = useParams({ from: route });
  const { type, status, conversationId } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const filters = { type, conversationId, status: eventStatuses.find((known) => known === status) };
  const query = useInfiniteQuery(eventsQuery(botId, filters));
  const change = (next: Record<string, string | undefined>) =>
    void navigate({ search: (former) => ({ ...former, ...next }), replace: true });
  return (
    <Page title="Events">
      <Group align="end">
        <Select
          label="Status"
          placeholder="Any"
          clearable
          data={eventStatuses.map((value) => ({ value, label: value }))}
          value={filters.status ?? null}
          onChange={(value) => change({ status: value ?? undefined })}
        />
        <TextInput
          label="Type"
          placeholder="Any"
          defaultValue={type ?? ''}
          onBlur={(event) => change({ type: event.currentTarget.value || undefined })}
          onKeyDown={(event) => event.key === 'Enter' && change({ type: event.currentTarget.value || undefined })}
        />
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const events = pages.flatMap((page) => page.events);
          return events.length === 0 ? (
            <Empty title="No events">Events appear when users write to the bot, or when its filters match.</Empty>
          ) : (
            <EventsTable events={events} />
          );
        }}
      </Loaded>
      <More query={query} />
    </Page>
  );
}
