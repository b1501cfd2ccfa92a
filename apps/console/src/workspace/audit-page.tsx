import { Group, Table, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useCan } from '../api/role';
import { Empty } from '../parts/empty';
import { FilterInput } from '../parts/filter-input';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { More, Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { auditQuery, type AuditRecord } from './queries';

const route = '/w/$workspaceId/audit';

/** Administrative changes of the workspace. */
export function AuditPage() {
  const { workspaceId } = useParams({ from: route });
  const canRead = useCan(workspaceId, 'administer');
  return (
    <Page title="Audit log">
      {canRead ? (
        <Records workspaceId={workspaceId} />
      ) : (
        <Empty title="The audit log is for administrators">Ask an owner of the workspace for the role.</Empty>
      )}
    </Page>
  );
}

function Records({ workspaceId }: { workspaceId: string }) {
  const { operation, words } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const query = useInfiniteQuery(auditQuery(workspaceId, { operation, words }));
  const change = (next: Record<string, string | undefined>) =>
    void navigate({ search: (former) => ({ ...former, ...next }), replace: true });
  const isFiltered = operation !== undefined || words !== undefined;
  return (
    <>
      <Group align="end">
        <FilterInput
          label="Change"
          description="Words of its name, such as members or create"
          value={operation}
          onApply={(text) => change({ operation: text })}
        />
        <FilterInput
          label="Person, thing or value"
          description="Words of an e-mail or network address, name, id or value"
          value={words}
          onApply={(text) => change({ words: text })}
        />
      </Group>
      {isFiltered && (
        <Text size="sm" c="dimmed">
          This page reads the log, the newest changes first, until some match: that takes longer in a long log.
        </Text>
      )}
      <Loaded query={query}>
        {({ pages }) => {
          const records = pages.flatMap(({ items }) => items);
          return records.length === 0 ? (
            <Empty title={isFiltered ? 'No change matches these filters' : 'No changes so far'}>
              {isFiltered ? 'Try fewer words.' : 'Changes of bots, members and settings appear here.'}
            </Empty>
          ) : (
            <Rows label="Audit log" columns={['Time', 'By', 'Change', 'Of', 'New value']}>
              {records.map((record) => (
                <RecordRow key={record.id} record={record} />
              ))}
            </Rows>
          );
        }}
      </Loaded>
      <More query={query} />
    </>
  );
}

function RecordRow({ record }: { record: AuditRecord }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Time at={record.recordedAt} />
      </Table.Td>
      <Table.Td>
        <Text size="sm">{record.userEmail ?? record.userId ?? 'an API key'}</Text>
        <Text size="sm" c="dimmed">
          {record.address}
        </Text>
      </Table.Td>
      <Table.Td>{record.operation ?? record.action}</Table.Td>
      <Table.Td>{record.resourceName ?? record.resourceId}</Table.Td>
      <Table.Td style={{ overflowWrap: 'anywhere' }}>{record.value}</Table.Td>
    </Table.Tr>
  );
}
