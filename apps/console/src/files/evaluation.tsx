import { Button, FileButton, Group, Progress, Stack, Table, Text } from '@mantine/core';
import {
  changesOf,
  changeText,
  evaluate,
  type EvaluationQuestion,
  figuresOf,
  type KeptRun,
  lastRunKey,
  missedOf,
  parseQuestions,
  placeText,
  questionsKey,
} from '@parley/contracts/search-evaluation';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { clientOf } from '../api/client';
import { Empty } from '../parts/empty';
import { Failure } from '../parts/failure';
import { Loaded } from '../parts/loaded';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { Time } from '../parts/time';
import { evaluationQuery } from './queries';
import { upload } from './upload';

const example = '[{ "question": "Are dogs welcome?", "file": "rules.md", "passage": "Dogs and cats" }]';

/** Kept questions of the bot, and how well its search finds their answers. */
export function Evaluation({ botId, canWrite }: { botId: string; canWrite: boolean }) {
  const kept = useQuery(evaluationQuery(botId));
  const queries = useQueryClient();
  const [asked, setAsked] = useState(0);
  const refresh = () => queries.invalidateQueries(evaluationQuery(botId));
  const keep = useMutation({
    mutationFn: async (file: File) => {
      const questions = parseQuestions(await file.text());
      await write(botId, questionsKey, questions);
    },
    onSuccess: refresh,
  });
  const ask = useMutation({
    mutationFn: async ({ questions, last }: { questions: EvaluationQuestion[]; last?: KeptRun }) => {
      setAsked(0);
      const client = clientOf({ botId });
      await write(botId, lastRunKey, await evaluate(questions, last, (query) => client.searchFiles(query), setAsked));
    },
    onSuccess: refresh,
  });
  return (
    <Loaded query={kept}>
      {({ questions, run }) => (
        <Stack>
          <Group>
            {canWrite && questions && (
              <Button loading={ask.isPending} onClick={() => ask.mutate({ questions, last: run })}>
                Ask {questions.length} questions
              </Button>
            )}
            {canWrite && (
              <FileButton accept="application/json" onChange={(file) => file && keep.mutate(file)}>
                {(props) => (
                  <Button {...props} variant="default" loading={keep.isPending}>
                    {questions ? 'Replace the questions' : 'Upload questions'}
                  </Button>
                )}
              </FileButton>
            )}
          </Group>
          {ask.isPending && questions && (
            <Progress
              value={(100 * asked) / questions.length}
              aria-label={`${asked} of ${questions.length} questions`}
            />
          )}
          {ask.isError && <Failure error={ask.error} />}
          {keep.isError && <Failure error={keep.error} />}
          {!questions && (
            <Empty title="No questions">
              Upload a JSON list of questions with the key of the file that answers: {example}
            </Empty>
          )}
          {run && <Run run={run} />}
        </Stack>
      )}
    </Loaded>
  );
}

function Run({ run: { before, ...run } }: { run: KeptRun }) {
  const now = figuresOf(run);
  const then = before && figuresOf(before);
  const missed = missedOf(run);
  const changes = before ? changesOf(run, before) : [];
  const figures = [
    ['In first place (hit@1)', 'hitAt1'],
    ['Among the first five (hit@5)', 'hitAt5'],
    ['Mean reciprocal rank', 'meanReciprocalRank'],
  ] as const;
  return (
    <>
      <Section title="Last run" aside={<Time at={run.startedAt} />}>
        <Rows label="Figures" columns={['Figure', 'Now', 'Run before', 'Change']}>
          {figures.map(([name, figure]) => (
            <Table.Tr key={figure}>
              <Table.Td>{name}</Table.Td>
              <Table.Td>{now[figure].toFixed(3)}</Table.Td>
              <Table.Td>{then ? then[figure].toFixed(3) : '–'}</Table.Td>
              <Table.Td>{then ? changeText(now[figure] - then[figure]) : '–'}</Table.Td>
            </Table.Tr>
          ))}
        </Rows>
      </Section>
      {changes.length > 0 && (
        <Section title="Changed places">
          <Rows label="Changed places" columns={['Question', 'Before', 'Now']}>
            {changes.map(({ question, from, to }) => (
              <Table.Tr key={question}>
                <Table.Td>{question}</Table.Td>
                <Table.Td>{placeText(from)}</Table.Td>
                <Table.Td>{placeText(to)}</Table.Td>
              </Table.Tr>
            ))}
          </Rows>
        </Section>
      )}
      <Section title="Not among the first five">
        {missed.length === 0 ? (
          <Text>Each question has an answer among the first five.</Text>
        ) : (
          <Rows label="Not among the first five" columns={['Question', 'Place', 'File']}>
            {missed.map(({ question, place, file }) => (
              <Table.Tr key={`${question} ${file}`}>
                <Table.Td>{question}</Table.Td>
                <Table.Td>{placeText(place)}</Table.Td>
                <Table.Td>{file}</Table.Td>
              </Table.Tr>
            ))}
          </Rows>
        )}
      </Section>
    </>
  );
}

async function write(botId: string, key: string, value: unknown): Promise<void> {
  const content = new File([JSON.stringify(value, null, 2)], key, { type: 'application/json' });
  await upload(botId, content, () => undefined, { key, index: false });
}
