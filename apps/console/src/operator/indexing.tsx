import { Code, Stack, Table } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { progressText } from '@parley/contracts/progress-text';
import { ActionButton } from '../parts/change-buttons';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { More, Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { Time } from '../parts/time';
import { failedFilesQuery, indexingKey, retryFile, stuckFilesQuery } from './queries';

/** Files of all bots whose indexing failed or takes long. */
export function Indexing() {
  return (
    <Stack gap="lg">
      <Failed />
      <Stuck />
    </Stack>
  );
}

function Failed() {
  const query = useInfiniteQuery(failedFilesQuery);
  return (
    <Section title="Files that could not be indexed">
      <Loaded query={query}>
        {({ pages }) => {
          const files = pages.flatMap((page) => page.files);
          if (files.length === 0) return <Empty title="No file has failed" />;
          return (
            <Rows label="Failed files" columns={['Time', 'File', 'Bot', 'Reason', 'Actions']}>
              {files.map(({ fileId, key, botId, reason, failedAt }) => (
                <Table.Tr key={fileId}>
                  <Table.Td>
                    <Time at={failedAt} />
                  </Table.Td>
                  <Table.Td>{key}</Table.Td>
                  <Table.Td>
                    <Code>{botId}</Code>
                  </Table.Td>
                  <Table.Td>{reason}</Table.Td>
                  <Table.Td>
                    <ActionButton
                      label="Index again"
                      aria-label={`Index again ${key}`}
                      changes={indexingKey}
                      run={() => retryFile(fileId)}
                    />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          );
        }}
      </Loaded>
      <More query={query} />
    </Section>
  );
}

function Stuck() {
  const query = useInfiniteQuery(stuckFilesQuery);
  return (
    <Section title="Files that wait for long, or were attempted before">
      <Loaded query={query}>
        {({ pages }) => {
          const files = pages.flatMap((page) => page.files);
          if (files.length === 0) return <Empty title="No file waits for longer than ten minutes" />;
          return (
            <Rows label="Stuck files" columns={['File', 'Bot', 'Waits for', 'Stage', 'Attempts', 'Last error']}>
              {files.map(({ fileId, key, botId, ageSeconds, attempts, lastError, ...progress }) => (
                <Table.Tr key={fileId}>
                  <Table.Td>{key}</Table.Td>
                  <Table.Td>
                    <Code>{botId}</Code>
                  </Table.Td>
                  <Table.Td>{Math.round(ageSeconds / 60)} min</Table.Td>
                  <Table.Td>{progressText(progress)}</Table.Td>
                  <Table.Td>{attempts}</Table.Td>
                  <Table.Td>{lastError}</Table.Td>
                </Table.Tr>
              ))}
            </Rows>
          );
        }}
      </Loaded>
      <More query={query} />
    </Section>
  );
}
