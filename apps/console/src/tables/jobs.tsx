import { Anchor, Button, FileButton, Group, Progress, Stack, Table, Text } from '@mantine/core';
import { type Query, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { clientOf } from '../api/client';
import { upload } from '../files/upload';
import { Empty } from '../parts/empty';
import { Failure } from '../parts/failure';
import { Loaded } from '../parts/loaded';
import { Rows } from '../parts/rows';
import { safeUrl } from '../parts/safe-url';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import { isUnfinished, jobsQuery, type ShownJob, tableKey, type TableScope } from './queries';

/** The file is needed until its job has ended. */
const keptMs = 86_400_000;

/** Import and export of the rows, and the last jobs of the table with their progress. */
export function Jobs({ scope }: { scope: TableScope }) {
  const { botId, table } = scope;
  const query = useQuery(jobsQuery(scope));
  const queries = useQueryClient();
  const [percent, setPercent] = useState<number>();
  const refresh = () => queries.invalidateQueries({ queryKey: jobsQuery(scope).queryKey });
  const exporting = useMutation({
    mutationFn: () => clientOf(scope).exportTable({ table: scope.table, format: 'csv', compress: false }),
    onSuccess: refresh,
  });
  const importing = useMutation({
    mutationFn: async (content: File) => {
      setPercent(0);
      const expiresAt = new Date(Date.now() + keptMs).toISOString();
      const options = { key: `imports/${table}/${content.name}`, index: false, expiresAt };
      const fileId = await upload(scope.botId, content, setPercent, options);
      return clientOf(scope).importTable({ table: scope.table, fileId });
    },
    onSuccess: refresh,
    onSettled: () => setPercent(undefined),
  });
  const unfinished = query.data?.filter(isUnfinished).length ?? 0;
  useEffect(() => {
    // A job that has ended may have changed the rows.
    void queries.invalidateQueries({ queryKey: tableKey({ botId, table }), predicate: isNotJobs });
  }, [queries, botId, table, unfinished]);
  return (
    <Stack>
      <Group>
        <FileButton accept=".csv,.json,.jsonl,.ndjson,.gz" onChange={(content) => content && importing.mutate(content)}>
          {(props) => (
            <Button {...props} loading={importing.isPending}>
              Import a file
            </Button>
          )}
        </FileButton>
        <Button variant="default" loading={exporting.isPending} onClick={() => exporting.mutate()}>
          Export as CSV
        </Button>
      </Group>
      <Text size="sm" c="dimmed">
        The first line of a CSV file names the columns. Columns that the table does not have are ignored. A JSON array
        of rows, or one row per line, is imported as well.
      </Text>
      {percent !== undefined && <Progress value={percent} aria-label="Upload of the file" />}
      {importing.isError && <Failure error={importing.error} />}
      {exporting.isError && <Failure error={exporting.error} />}
      <Loaded query={query}>
        {(jobs) =>
          jobs.length === 0 ? (
            <Empty title="No jobs so far">Imports and exports of this table appear here with their progress.</Empty>
          ) : (
            <Rows label="Jobs" columns={['Started', 'Job', 'Status', 'Rows', 'Result']}>
              {jobs.map((job) => (
                <JobRow key={job.id} botId={scope.botId} job={job} />
              ))}
            </Rows>
          )
        }
      </Loaded>
    </Stack>
  );
}

function isNotJobs({ queryKey }: Query): boolean {
  return !queryKey.includes('jobs');
}

function JobRow({ botId, job }: { botId: string; job: ShownJob }) {
  const problems = [job.failedStatusReason, ...(job.errors ?? [])].filter((text) => text !== undefined);
  return (
    <Table.Tr style={{ verticalAlign: 'top' }}>
      <Table.Td>
        <Time at={job.createdAt} />
      </Table.Td>
      <Table.Td>{job.type.replaceAll('_', ' ')}</Table.Td>
      <Table.Td>
        <Status value={job.status} />
        {isUnfinished(job) && <Progress value={job.progress ?? 0} mt={4} aria-label={`Progress of the ${job.type}`} />}
      </Table.Td>
      <Table.Td>
        {job.rows}
        {(job.failedRows ?? 0) > 0 && `, ${job.failedRows} failed`}
      </Table.Td>
      <Table.Td>
        {job.type === 'export' && job.outputFileId && !isUnfinished(job) && (
          <Download botId={botId} fileId={job.outputFileId} />
        )}
        {problems.map((problem) => (
          <Text key={problem} size="sm">
            {problem}
          </Text>
        ))}
      </Table.Td>
    </Table.Tr>
  );
}

/** Link to the file, whose signed address is requested when it is shown. */
function Download({ botId, fileId }: { botId: string; fileId: string }) {
  const query = useQuery({
    queryKey: [botId, 'files', fileId, 'url'],
    queryFn: async () => (await clientOf({ botId }).getFile({ id: fileId })).file.url,
  });
  const url = query.data && safeUrl(query.data);
  if (query.isError) return <Text size="sm">The file was deleted.</Text>;
  return url ? (
    <Anchor href={url} download>
      Download
    </Anchor>
  ) : null;
}
