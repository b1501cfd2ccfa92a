import { Paper, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** Empty state: names the next step. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Paper withBorder p="xl" ta="center">
      <Title order={2} size="h4">
        {title}
      </Title>
      {children && (
        <Text c="dimmed" mt="xs" component="div">
          {children}
        </Text>
      )}
    </Paper>
  );
}
