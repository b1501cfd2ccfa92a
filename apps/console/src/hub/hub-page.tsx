import { Code, Group, SegmentedControl, Table, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { Empty } from '../parts/empty';
import { FilterInput } from '../parts/filter-input';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { More, Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { entriesQuery, type Kind, kinds, type Shelf, type Source, sources } from './queries';

const route = '/w/$workspaceId/hub';

const kindLabels: Record<Kind, string> = {
  integrations: 'Integrations',
  interfaces: 'Interfaces',
  plugins: 'Plugins',
};

export function HubPage() {
  const { workspaceId } = useParams({ from: route });
  const { kind: kindText, source: sourceText, search = '' } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const kind = kinds.find((known) => known === kindText) ?? 'integrations';
  const source: Source = sourceText === 'workspace' ? 'workspace' : 'public';
  const shelf: Shelf = { workspaceId, kind, source };
  const query = useInfiniteQuery(entriesQuery(shelf, search));
  const change = (next: Record<string, string | undefined>) =>
    void navigate({ search: (former) => ({ ...former, ...next }), replace: true });
  return (
    <Page title="Hub">
      <Group align="end">
        <SegmentedControl
          aria-label="Kind"
          data={kinds.map((value) => ({ value, label: kindLabels[value] }))}
          value={kind}
          onChange={(value) => change({ kind: value })}
        />
        <SegmentedControl
          aria-label="Published by"
          data={[...sources]}
          value={source}
          onChange={(value) => change({ source: value })}
        />
        <FilterInput
          label="Search"
          description="Words of the name, title or description"
          value={search}
          onApply={(text) => change({ search: text })}
        />
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const entries = pages.flatMap(({ items }) => items);
          return entries.length === 0 ? (
            <Nothing kind={kind} source={source} isSearch={search !== ''} />
          ) : (
            <Rows label={kindLabels[kind]} columns={['Name', 'Version', 'Description', 'Changed']}>
              {entries.map(({ id, name, title, version, description, updatedAt }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <PageLink to="/w/$workspaceId/hub/$kind/$source/$id" params={{ workspaceId, kind, source, id }}>
                      {title || name}
                    </PageLink>
                    <Text size="sm" c="dimmed">
                      {name}
                    </Text>
                  </Table.Td>
                  <Table.Td>{version}</Table.Td>
                  <Table.Td>{description}</Table.Td>
                  <Table.Td>
                    <Time at={updatedAt} />
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

function Nothing({ kind, source, isSearch }: { kind: Kind; source: Source; isSearch: boolean }) {
  if (isSearch) return <Empty title="Nothing found">Try other words, or another kind.</Empty>;
  return source === 'public' ? (
    <Empty title={`No public ${kind}`}>Those that a workspace publishes appear here.</Empty>
  ) : (
    <Empty title={`This workspace has no ${kind}`}>
      <Code>bp deploy</Code> creates them from your code.
    </Empty>
  );
}
