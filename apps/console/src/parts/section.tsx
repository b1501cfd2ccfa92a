import { Group, Stack, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** Part of a page with its heading, and with what can be done there beside it. */
export function Section({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Group justify="space-between">
        <Title order={2} size="h4">
          {title}
        </Title>
        {aside}
      </Group>
      {children}
    </Stack>
  );
}
