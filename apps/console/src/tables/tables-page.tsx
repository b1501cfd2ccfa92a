import { Button, Table } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useCan } from '../api/role';
import { Detail } from '../parts/detail';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { NewTable } from './new-table';
import { tablesQuery } from './queries';

export function TablesPage() {
  const { workspaceId, botId } = useParams({ from: '/w/$workspaceId/bots/$botId/tables' });
  const query = useQuery(tablesQuery(botId));
  const canWrite = useCan(workspaceId, 'write');
  const navigate = useNavigate();
  const [isNew, { open, close }] = useDisclosure();
  return (
    <Page title="Tables" aside={canWrite && <Button onClick={open}>New table</Button>}>
      <Loaded query={query}>
        {(tables) =>
          tables.length === 0 ? (
            <Empty title="No tables">
              {canWrite
                ? 'A table holds rows that the bot reads and writes. Create one, then add rows or import a CSV file.'
                : 'A table holds rows that the bot reads and writes. A developer of the workspace can create one.'}
            </Empty>
          ) : (
            <Rows label="Tables" columns={['Name', 'Columns', 'Created', 'Changed']}>
              {tables.map(({ id, name, schema, createdAt, updatedAt }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <PageLink
                      to="/w/$workspaceId/bots/$botId/tables/$tableId"
                      params={{ workspaceId, botId, tableId: id }}
                    >
                      {name}
                    </PageLink>
                  </Table.Td>
                  <Table.Td>{Object.keys(schema.properties).join(', ')}</Table.Td>
                  <Table.Td>{createdAt && <Time at={createdAt} />}</Table.Td>
                  <Table.Td>{updatedAt && <Time at={updatedAt} />}</Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          )
        }
      </Loaded>
      <Detail title={isNew ? 'New table' : undefined} onClose={close}>
        <NewTable
          botId={botId}
          onCreated={(tableId) =>
            void navigate({
              to: '/w/$workspaceId/bots/$botId/tables/$tableId',
              params: { workspaceId, botId, tableId },
            })
          }
        />
      </Detail>
    </Page>
  );
}
