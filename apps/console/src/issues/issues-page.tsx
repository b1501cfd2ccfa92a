import { Button, Group, Stack, Table, Text } from '@mantine/core';
import type { Issue } from '@botpress/client';
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { clientOf } from '../api/client';
import { useCan } from '../api/role';
import { Empty } from '../parts/empty';
import { Failure } from '../parts/failure';
import { Detail } from '../parts/detail';
import { Json } from '../parts/json';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { More, Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { issueEventsQuery, issuesKey, issuesQuery } from './queries';

/** Failures of one kind are one issue. */
export function IssuesPage() {
  const { workspaceId, botId } = useParams({ from: '/w/$workspaceId/bots/$botId/issues' });
  const query = useInfiniteQuery(issuesQuery(workspaceId, botId));
  const [shown, setShown] = useState<Issue>();
  const close = () => setShown(undefined);
  return (
    <Page title="Issues">
      <Loaded query={query}>
        {({ pages }) => {
          const issues = pages.flatMap((page) => page.issues);
          return issues.length === 0 ? (
            <Empty title="No issues">The calls of this bot failed nowhere in the last 14 days.</Empty>
          ) : (
            <Rows label="Issues" columns={['Last seen', 'Issue', 'Times', 'Detail']}>
              {issues.map((issue) => (
                <Table.Tr key={issue.id}>
                  <Table.Td>
                    <Time at={issue.lastSeenAt} />
                  </Table.Td>
                  <Table.Td>
                    <Text>{issue.title}</Text>
                    <Text size="sm" c="dimmed" lineClamp={2}>
                      {issue.description}
                    </Text>
                  </Table.Td>
                  <Table.Td>{issue.eventsCount}</Table.Td>
                  <Table.Td>
                    <Button size="compact-sm" variant="default" onClick={() => setShown(issue)}>
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
      <Detail title={shown?.title} onClose={close}>
        {shown && <IssueDetail workspaceId={workspaceId} botId={botId} issue={shown} onDeleted={close} />}
      </Detail>
    </Page>
  );
}

interface DetailProps {
  workspaceId: string;
  botId: string;
  issue: Issue;
  onDeleted: () => void;
}

function IssueDetail({ workspaceId, botId, issue, onDeleted }: DetailProps) {
  const canWrite = useCan(workspaceId, 'write');
  const events = useQuery(issueEventsQuery(workspaceId, botId, issue.id));
  const queries = useQueryClient();
  const deletion = useMutation({
    mutationFn: () => clientOf({ workspaceId }).deleteBotIssue({ id: botId, issueId: issue.id }),
    onSuccess: () => {
      onDeleted();
      return queries.invalidateQueries({ queryKey: issuesKey(botId) });
    },
  });
  return (
    <Stack gap="sm">
      <Text>{issue.description}</Text>
      <Text size="sm" c="dimmed">
        First seen <Time at={issue.createdAt} />, {issue.eventsCount} times so far
      </Text>
      <Loaded query={events}>{(latest) => <Json label="Latest events" value={latest} />}</Loaded>
      {deletion.isError && <Failure error={deletion.error} />}
      {canWrite && (
        <Group>
          <Button color="red" variant="light" loading={deletion.isPending} onClick={() => deletion.mutate()}>
            Delete the issue
          </Button>
          <Text size="sm" c="dimmed">
            The next failure of this kind creates a new one.
          </Text>
        </Group>
      )}
    </Stack>
  );
}
