import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { operatorQuery } from '../api/queries';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { DeadLetters } from './dead-letters';
import { Deliveries } from './deliveries';
import { Indexing } from './indexing';
import { Maintenance } from './maintenance';
import { Providers } from './providers';
import { Queues } from './queues';

const route = '/w/$workspaceId/operator';

const tabs = [
  { name: 'queues', label: 'Queues', Panel: Queues },
  { name: 'dead-letters', label: 'Dead letters', Panel: DeadLetters },
  { name: 'deliveries', label: 'Deliveries', Panel: Deliveries },
  { name: 'indexing', label: 'Indexing', Panel: Indexing },
  { name: 'models', label: 'Language models', Panel: Providers },
  { name: 'maintenance', label: 'Storage and search index', Panel: Maintenance },
];

/** Background work of all workspaces and their language models, for owners and administrators of the operator's workspace. */
export function OperatorPage() {
  const { tab } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const query = useQuery(operatorQuery);
  const shown = tabs.find(({ name }) => name === tab) ?? tabs[0]!;
  return (
    <Page title="Operator">
      <Loaded query={query}>
        {(isOperator) =>
          isOperator ? (
            <Tabs
              value={shown.name}
              keepMounted={false}
              onChange={(name) => void navigate({ search: { tab: name ?? undefined }, replace: true })}
            >
              <Tabs.List mb="md">
                {tabs.map(({ name, label }) => (
                  <Tabs.Tab key={name} value={name}>
                    {label}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              {tabs.map(({ name, Panel }) => (
                <Tabs.Panel key={name} value={name}>
                  <Panel />
                </Tabs.Panel>
              ))}
            </Tabs>
          ) : (
            <Empty title="This page is for operators">
              Owners and administrators of the operator&apos;s workspace see the background work of the platform here.
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}
