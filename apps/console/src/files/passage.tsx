import { Group, Paper, Text } from '@mantine/core';
import type { ReactNode } from 'react';

interface Props {
  content: string;
  meta: { type?: string; subtype?: string; pageNumber?: number; ocr?: boolean };
  aside?: ReactNode;
}

export function Passage({ content, meta: { type, subtype, pageNumber, ocr }, aside }: Props) {
  return (
    <Paper withBorder p="md">
      <Group justify="space-between" mb="xs">
        <Text size="sm" c="dimmed">
          {[subtype ?? type, pageNumber !== undefined && `page ${pageNumber}`, ocr && 'read by OCR']
            .filter(Boolean)
            .join(', ')}
        </Text>
        {aside}
      </Group>
      <Text style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{content}</Text>
    </Paper>
  );
}
