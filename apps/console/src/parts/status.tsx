import { Badge } from '@mantine/core';

const colors: Record<string, string> = {
  registered: 'teal',
  processed: 'teal',
  upload_completed: 'teal',
  indexing_completed: 'teal',
  completed: 'teal',
  deployed: 'teal',
  ready: 'teal',
  approved: 'teal',
  reachable: 'teal',
  failed: 'red',
  failing: 'red',
  error: 'red',
  upload_failed: 'red',
  indexing_failed: 'red',
  registration_failed: 'red',
  unregistration_failed: 'red',
  timedout: 'red',
  rejected: 'red',
  not_ready: 'red',
  pending: 'yellow',
  warn: 'yellow',
  upload_pending: 'yellow',
  indexing_pending: 'blue',
  listening: 'yellow',
  in_progress: 'blue',
  registration_pending: 'yellow',
  paused: 'yellow',
};

export function Status({ value }: { value: string }) {
  return (
    <Badge variant="dot" color={colors[value] ?? 'gray'} tt="none" miw="max-content">
      {value.replaceAll('_', ' ')}
    </Badge>
  );
}
