import { Group, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';

/** Page with its heading, which is also the title of the document. */
export function Page({ title, aside, children }: { title: string; aside?: ReactNode; children: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Parley console`;
  }, [title]);
  return (
    <Stack gap="lg">
      <Group justify="space-between">
        <Title order={1} size="h2">
          {title}
        </Title>
        {aside}
      </Group>
      {children}
    </Stack>
  );
}
