import { Badge } from '@mantine/core';

const colors: Record<string, string> = {
  registered: 'teal',
  processed: 'teal',
  completed: 'teal',
  ready: 'teal',
  failed: 'red',
  registration_failed: 'red',
  unregistration_failed: 'red',
  timedout: 'red',
  not_ready: 'red',
  pending: 'yellow',
  listening: 'yellow',
  in_progress: 'blue',
  registration_pending: 'yellow',
  paused: 'yellow',
};

export function Status({ value }: { value: string }) {
  return (
    <Badge variant="dot" color={colors[value] ?? 'gray'} tt="none">
      {value.replaceAll('_', ' ')}
    </Badge>
  );
}
