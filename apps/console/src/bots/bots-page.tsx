import { Code, Table, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { botsQuery } from '../api/queries';
import { useCan } from '../api/role';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { CreateBot } from './create-bot';

export function BotsPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId/bots' });
  const [filter, setFilter] = useState('');
  const query = useQuery(botsQuery(workspaceId));
  const canWrite = useCan(workspaceId, 'write');
  return (
    <Page title="Bots" aside={canWrite && <CreateBot workspaceId={workspaceId} />}>
      <Loaded query={query}>
        {(bots) => {
          if (bots.length === 0)
            return (
              <Empty title="No bots yet">
                {canWrite ? 'Create one here, try' : 'Ask a developer for one, or try'}{' '}
                <Code>npm run demo -- README.md</Code>, or deploy yours with <Code>bp deploy</Code>.
              </Empty>
            );
          const wanted = filter.toLowerCase();
          const shown = bots.filter(({ id, name }) => `${name} ${id}`.toLowerCase().includes(wanted));
          return (
            <>
              <TextInput
                label="Filter by name or id"
                value={filter}
                onChange={(event) => setFilter(event.currentTarget.value)}
                maw={320}
              />
              {shown.length === 0 && <Empty title="No bot matches this filter" />}
              {shown.length > 0 && (
                <Rows label="Bots" columns={['Name', 'Id', 'Created', 'Changed']}>
                  {shown.map(({ id, name, createdAt, updatedAt }) => (
                    <Table.Tr key={id}>
                      <Table.Td>
                        <PageLink to="/w/$workspaceId/bots/$botId" params={{ workspaceId, botId: id }}>
                          {name || id}
                        </PageLink>
                      </Table.Td>
                      <Table.Td>
                        <Code>{id}</Code>
                      </Table.Td>
                      <Table.Td>
                        <Time at={createdAt} />
                      </Table.Td>
                      <Table.Td>
                        <Time at={updatedAt} />
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Rows>
              )}
            </>
          );
        }}
      </Loaded>
    </Page>
  );
}
