import { Anchor, Group, SimpleGrid, Table } from '@mantine/core';
import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { clientOf } from '../api/client';
import { useCan } from '../api/role';
import { ConfirmButton } from '../parts/change-buttons';
import { safeUrl } from '../parts/safe-url';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { More } from '../parts/rows';
import { Section } from '../parts/section';
import { Time } from '../parts/time';
import { bytesText } from './bytes-text';
import { FileStatus } from './file-status';
import { FileText } from './file-text';
import { IndexAgain } from './index-again';
import { Passage } from './passage';
import { fileQuery, filesKey, hasText, isIndexed, passagesQuery, type ShownFile } from './queries';

export function FilePage() {
  const { workspaceId, botId, fileId } = useParams({ from: '/w/$workspaceId/bots/$botId/files/$fileId' });
  const query = useQuery(fileQuery(botId, fileId));
  return (
    <Page
      title={query.data?.key ?? 'File'}
      aside={query.data && <Actions workspaceId={workspaceId} botId={botId} file={query.data} />}
    >
      <Loaded query={query}>
        {(file) => (
          <>
            <Facts file={file} />
            <SimpleGrid cols={{ base: 1, lg: hasText(file) ? 2 : 1 }}>
              <Passages key={file.status} botId={botId} file={file} />
              {hasText(file) && <FileText file={file} />}
            </SimpleGrid>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Facts({ file }: { file: ShownFile }) {
  const url = safeUrl(file.url);
  return (
    <Table aria-label="File" variant="vertical" layout="fixed">
      <Table.Tbody>
        <Table.Tr>
          <Table.Th w={160}>Status</Table.Th>
          <Table.Td>
            <FileStatus file={file} />
          </Table.Td>
        </Table.Tr>
        <Table.Tr>
          <Table.Th>Size</Table.Th>
          <Table.Td>{bytesText(file.size)}</Table.Td>
        </Table.Tr>
        <Table.Tr>
          <Table.Th>Type</Table.Th>
          <Table.Td>{file.contentType}</Table.Td>
        </Table.Tr>
        <Table.Tr>
          <Table.Th>Changed</Table.Th>
          <Table.Td>
            <Time at={file.updatedAt} />
          </Table.Td>
        </Table.Tr>
        {url && (
          <Table.Tr>
            <Table.Th>Content</Table.Th>
            <Table.Td>
              <Anchor href={url} target="_blank" rel="noreferrer">
                Open
              </Anchor>
            </Table.Td>
          </Table.Tr>
        )}
      </Table.Tbody>
    </Table>
  );
}

function Passages({ botId, file }: { botId: string; file: ShownFile }) {
  const query = useInfiniteQuery(passagesQuery(botId, file.id));
  return (
    <Section title="Passages">
      <Loaded query={query}>
        {({ pages }) => {
          const passages = pages.flatMap((page) => page.passages);
          return passages.length === 0 ? (
            <Empty title="No passages">
              {file.index
                ? 'They appear when the file is indexed.'
                : 'This file is not indexed, so search does not find it.'}
            </Empty>
          ) : (
            passages.map(({ id, content, meta }) => <Passage key={id} content={content} meta={meta} />)
          );
        }}
      </Loaded>
      <More query={query} />
    </Section>
  );
}

function Actions({ workspaceId, botId, file }: { workspaceId: string; botId: string; file: ShownFile }) {
  const canWrite = useCan(workspaceId, 'write');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const remove = async () => {
    await clientOf({ botId }).deleteFile({ id: file.id });
    await navigate({ to: '/w/$workspaceId/bots/$botId/files', params: { workspaceId, botId } });
    queries.removeQueries({ queryKey: [...filesKey(botId), file.id] });
  };
  if (!canWrite) return null;
  return (
    <Group>
      {isIndexed(file) && <IndexAgain botId={botId} file={file} />}
      <ConfirmButton
        label="Delete"
        question={`Delete "${file.key}"?`}
        confirmLabel="Delete the file"
        changes={filesKey(botId)}
        run={remove}
      >
        Its passages are deleted too, so search does not find them any more.
      </ConfirmButton>
    </Group>
  );
}
