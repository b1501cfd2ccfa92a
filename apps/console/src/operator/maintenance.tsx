import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ConfirmButton } from '../parts/change-buttons';
import { Failure } from '../parts/failure';
import { Section } from '../parts/section';
import {
  dropFormerModels,
  fillNextModel,
  indexTableRows,
  readOlderFiles,
  recountStorage,
  type Run,
} from './maintenance-runs';

const runs = [
  {
    title: 'Storage counts',
    about: 'Counts the storage that the files of all bots use, and corrects counts that are wrong.',
    label: 'Count again',
    start: recountStorage,
  },
  {
    title: 'Next embedding model',
    about: 'Fills the index of the next embedding model (NEXT_EMBEDDINGS_URL). Search uses the current one meanwhile.',
    label: 'Fill the index',
    start: fillNextModel,
  },
  {
    title: 'Files of older readers',
    about:
      'Reads files anew that the reader of an older version has read or refused. Search finds them as before meanwhile.',
    label: 'Read them anew',
    start: readOlderFiles,
  },
  {
    title: 'Rows of tables',
    about: 'Queues the rows of all searchable tables for indexing, whether or not they are in the index.',
    label: 'Index the rows again',
    start: indexTableRows,
  },
  {
    title: 'Former embedding models',
    about: 'Deletes the vectors of models that are no longer configured.',
    label: 'Drop former models',
    start: dropFormerModels,
    question: 'Delete the vectors of former models?',
  },
];

/** Runs that the page drives batch by batch. They can be stopped and started again at any time. */
export function Maintenance() {
  return (
    <Stack gap="lg">
      {runs.map((run) => (
        <Maintained key={run.title} {...run} />
      ))}
    </Stack>
  );
}

interface Props {
  title: string;
  about: string;
  label: string;
  start: () => Run;
  /** Asked first, by what deletes something. */
  question?: string;
}

function Maintained({ title, about, label, start, question }: Props) {
  const [text, setText] = useState('');
  const isStopped = useRef(false);
  const run = useMutation({
    mutationFn: async () => {
      isStopped.current = false;
      const batches = start();
      for (let step = await batches.next(); ; step = await batches.next()) {
        setText(step.value);
        if (step.done) return;
        if (isStopped.current) return setText(`Stopped: ${step.value}. Start it again for the rest.`);
      }
    },
  });
  const stop = () => {
    isStopped.current = true;
  };
  useEffect(() => stop, []);
  return (
    <Section title={title}>
      <Text size="sm">{about}</Text>
      <Group gap="xs">
        {question === undefined || run.isPending ? (
          <Button size="compact-sm" variant="default" loading={run.isPending} onClick={() => run.mutate()}>
            {label}
          </Button>
        ) : (
          <ConfirmButton
            label={label}
            question={question}
            confirmLabel="Delete the vectors"
            changes={['operator', title]}
            run={() => run.mutateAsync()}
          >
            A return to one of these models then needs all files to be indexed again.
          </ConfirmButton>
        )}
        {run.isPending && (
          <Button size="compact-sm" variant="default" onClick={stop}>
            Stop
          </Button>
        )}
      </Group>
      {text !== '' && (
        <Text size="sm" role="status" style={{ whiteSpace: 'pre-wrap' }}>
          {text}
        </Text>
      )}
      {run.isError && <Failure error={run.error} />}
    </Section>
  );
}
