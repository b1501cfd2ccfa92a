import { Group, Progress, Stack, Text } from '@mantine/core';
import { progressText } from '@parley/contracts/progress-text';
import { Status } from '../parts/status';
import type { ShownFile } from './queries';

/** Status of a file, with the stage of its indexing or the reason of a failure. */
export function FileStatus({ file: { status, indexing, failedStatusReason } }: { file: ShownFile }) {
  return (
    <Stack gap={4} miw={160}>
      <Group gap="xs">
        <Status value={status} />
        {indexing && (
          <Text size="sm" c="dimmed">
            {progressText(indexing)}
          </Text>
        )}
      </Group>
      {indexing && <Progress value={indexing.percentage} aria-label="Indexing" />}
      {(failedStatusReason ?? indexing?.lastError) && (
        <Text size="sm">{failedStatusReason ?? indexing?.lastError}</Text>
      )}
    </Stack>
  );
}
