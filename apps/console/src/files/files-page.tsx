import { Table, Tabs } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useCan } from '../api/role';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { More, Rows } from '../parts/rows';
import { Time } from '../parts/time';
import { bytesText } from './bytes-text';
import { Evaluation } from './evaluation';
import { FileStatus } from './file-status';
import { IndexAgain } from './index-again';
import { filesQuery } from './queries';
import { Search } from './search';
import { Uploads } from './uploads';

export function FilesPage() {
  const { workspaceId, botId } = useParams({ from: '/w/$workspaceId/bots/$botId/files' });
  const canWrite = useCan(workspaceId, 'write');
  return (
    <Page title="Files">
      <Tabs defaultValue="files" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="files">Files</Tabs.Tab>
          <Tabs.Tab value="search">Search</Tabs.Tab>
          <Tabs.Tab value="evaluation">Evaluation</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="files">
          {canWrite && <Uploads botId={botId} />}
          <FileList workspaceId={workspaceId} botId={botId} />
        </Tabs.Panel>
        <Tabs.Panel value="search">
          <Search workspaceId={workspaceId} botId={botId} />
        </Tabs.Panel>
        <Tabs.Panel value="evaluation">
          <Evaluation botId={botId} canWrite={canWrite} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}

function FileList(bot: { workspaceId: string; botId: string }) {
  const canWrite = useCan(bot.workspaceId, 'write');
  const query = useInfiniteQuery(filesQuery(bot.botId));
  return (
    <>
      <Loaded query={query}>
        {({ pages }) => {
          const files = pages.flatMap((page) => page.files);
          return files.length === 0 ? (
            <Empty title="No files">Uploaded documents appear here, and their passages can be found by search.</Empty>
          ) : (
            <Rows label="Files" columns={['Name', 'Size', 'Status', 'Created']}>
              {files.map((file) => (
                <Table.Tr key={file.id}>
                  <Table.Td>
                    <PageLink to="/w/$workspaceId/bots/$botId/files/$fileId" params={{ ...bot, fileId: file.id }}>
                      {file.key}
                    </PageLink>
                  </Table.Td>
                  <Table.Td>{bytesText(file.size)}</Table.Td>
                  <Table.Td>
                    <FileStatus file={file} />
                    {canWrite && file.status === 'indexing_failed' && <IndexAgain botId={bot.botId} file={file} />}
                  </Table.Td>
                  <Table.Td>
                    <Time at={file.createdAt} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          );
        }}
      </Loaded>
      <More query={query} />
    </>
  );
}
