import { FileButton, Button, Group, Paper, Progress, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type DragEvent, useState } from 'react';
import { Failure } from '../parts/failure';
import { filesKey } from './queries';
import { upload } from './upload';

interface Upload {
  number: number;
  name: string;
  percent: number;
  error?: unknown;
}

/** Uploads at once. */
const concurrency = 3;
let count = 0;

/** Place to drop files on, or to choose them; several are uploaded at once. Uploads that ended leave the list. */
export function Uploads({ botId }: { botId: string }) {
  const queries = useQueryClient();
  const [uploads, setUploads] = useState<Upload[]>([]);
  const [isOver, setIsOver] = useState(false);

  const change = (number: number, next: Partial<Upload>) =>
    setUploads((former) => former.map((known) => (known.number === number ? { ...known, ...next } : known)));
  const sendOne = async (number: number, content: File) => {
    try {
      await upload(botId, content, (percent) => change(number, { percent }));
      setUploads((former) => former.filter((known) => known.number !== number));
    } catch (error) {
      change(number, { error });
    }
    await queries.invalidateQueries({ queryKey: filesKey(botId) });
  };
  const sendAll = async (contents: File[]) => {
    const waiting = contents.map((content) => ({ content, number: (count += 1) }));
    setUploads((former) => [
      ...former,
      ...waiting.map(({ number, content }) => ({ number, name: content.name, percent: 0 })),
    ]);
    const sendNext = async (): Promise<void> => {
      const next = waiting.shift();
      if (!next) return;
      await sendOne(next.number, next.content);
      return sendNext();
    };
    await Promise.all(Array.from({ length: concurrency }, sendNext));
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setIsOver(false);
    void sendAll([...event.dataTransfer.files]);
  };
  return (
    <Stack gap="sm">
      <Paper
        withBorder
        p="lg"
        ta="center"
        bg={isOver ? 'var(--mantine-color-default-hover)' : undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setIsOver(true);
        }}
        onDragLeave={() => setIsOver(false)}
        onDrop={drop}
      >
        <Group justify="center">
          <Text>Drop files here, or</Text>
          <FileButton multiple onChange={(contents) => void sendAll(contents)}>
            {(props) => <Button {...props}>Choose files</Button>}
          </FileButton>
        </Group>
        <Text size="sm" c="dimmed" mt="xs">
          A file replaces the one with the same name. Its passages can be found by search when it is indexed.
        </Text>
      </Paper>
      {uploads.map(({ number, name, percent, error }) =>
        error === undefined ? (
          <Group key={number} wrap="nowrap">
            <Text size="sm" truncate flex={1}>
              {name}
            </Text>
            <Progress value={percent} flex={2} aria-label={`Upload of ${name}`} />
          </Group>
        ) : (
          <Stack key={number} gap={4}>
            <Text size="sm">{name}</Text>
            <Failure error={error} />
          </Stack>
        ),
      )}
    </Stack>
  );
}
