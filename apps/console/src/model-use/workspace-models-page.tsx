import { Table } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { botsQuery } from '../api/queries';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { Budget } from './budget';
import { costText, spendingsQuery } from './queries';

export function WorkspaceModelsPage() {
  const { workspaceId } = useParams({ from: '/w/$workspaceId/models' });
  const bots = useQuery(botsQuery(workspaceId));
  const query = useQuery({ ...spendingsQuery(workspaceId, bots.data ?? []), enabled: bots.data !== undefined });
  return (
    <Page title="Usage of models">
      <Budget params={{ workspaceId }} />
      <Section title="Cost of bots in this month">
        <Loaded query={query}>
          {(spendings) =>
            spendings.length === 0 ? (
              <Empty title="No cost">The bots used no language models with prices in this month.</Empty>
            ) : (
              <Rows label="Cost of bots in this month" columns={['Bot', 'Cost', 'Limit']}>
                {spendings.map(({ id, name, dollars, quota }) => (
                  <Table.Tr key={id}>
                    <Table.Td>
                      {name === undefined ? (
                        'deleted bot'
                      ) : (
                        <PageLink to="/w/$workspaceId/bots/$botId/models" params={{ workspaceId, botId: id }}>
                          {name}
                        </PageLink>
                      )}
                    </Table.Td>
                    <Table.Td>{costText(dollars)}</Table.Td>
                    <Table.Td>
                      {quota === undefined || quota === Number.MAX_SAFE_INTEGER ? 'none' : costText(quota)}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Rows>
            )
          }
        </Loaded>
      </Section>
    </Page>
  );
}
