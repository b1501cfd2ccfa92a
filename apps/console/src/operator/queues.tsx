import { Button, Code, Group, Select, Stack, Table, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ActionButton, ConfirmButton } from '../parts/change-buttons';
import { Detail } from '../parts/detail';
import { Empty } from '../parts/empty';
import { Json } from '../parts/json';
import { Loaded } from '../parts/loaded';
import { Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import {
  discardWork,
  maxListed,
  oneWorkQuery,
  queueServices,
  retryWork,
  type Work,
  workKey,
  workQuery,
  workStates,
} from './queries';

const columns = ['Queue', 'Key', 'State', 'Attempts', 'Due', 'Last error', 'Actions'];
const allStates = 'any';
const retriable = ['failed', 'waiting', 'parked'];

/** Queues of a service, the oldest work first. */
export function Queues() {
  const [service, setService] = useState<string>('runtime');
  const [state, setState] = useState<string>('failed');
  const [queue, setQueue] = useState('');
  const query = useQuery(workQuery(service, { state: state === allStates ? undefined : state, queue: queue.trim() }));
  const [shown, setShown] = useState<Work>();
  return (
    <Stack>
      <Group align="end">
        <Select
          label="Service"
          data={[...queueServices]}
          value={service}
          allowDeselect={false}
          onChange={(value) => value && setService(value)}
        />
        <Select
          label="State"
          data={[allStates, ...workStates]}
          value={state}
          allowDeselect={false}
          onChange={(value) => value && setState(value)}
        />
        <TextInput
          label="Queue"
          placeholder="All queues"
          value={queue}
          onChange={(event) => setQueue(event.currentTarget.value)}
        />
        {queue.trim() !== '' && (
          <ConfirmButton
            label="Retry all failed"
            button={{ size: 'sm', variant: 'default' }}
            question={`Retry all failed work of ${queue.trim()}?`}
            confirmLabel="Retry all"
            changes={workKey(service)}
            run={() => retryWork(service, queue.trim())}
          >
            All failed work of this queue starts at once, with new attempts.
          </ConfirmButton>
        )}
      </Group>
      <Loaded query={query}>
        {(work) =>
          work.length === 0 ? (
            <Empty title="No work in this state">Choose another service or state to see more.</Empty>
          ) : (
            <>
              {work.length > maxListed && <Text size="sm">Only the oldest {maxListed} are shown.</Text>}
              <Rows label="Work" columns={columns}>
                {work.slice(0, maxListed).map((each) => (
                  <WorkRow
                    key={`${each.queue} ${each.key}`}
                    service={service}
                    work={each}
                    onShow={() => setShown(each)}
                  />
                ))}
              </Rows>
            </>
          )
        }
      </Loaded>
      <Detail title={shown?.queue} onClose={() => setShown(undefined)}>
        {shown && <WorkDetail service={service} work={shown} />}
      </Detail>
    </Stack>
  );
}

function WorkRow({ service, work, onShow }: { service: string; work: Work; onShow: () => void }) {
  const { queue, key, state, attempts, dueAt, lastError } = work;
  const changes = workKey(service);
  return (
    <Table.Tr>
      <Table.Td>{queue}</Table.Td>
      <Table.Td>
        <Code>{key}</Code>
      </Table.Td>
      <Table.Td>
        <Status value={state} />
      </Table.Td>
      <Table.Td>{attempts}</Table.Td>
      <Table.Td>{dueAt && <Time at={dueAt} />}</Table.Td>
      <Table.Td>{lastError}</Table.Td>
      <Table.Td>
        <Group gap={4}>
          <Button size="compact-sm" variant="default" aria-label={`Show ${key}`} onClick={onShow}>
            Show
          </Button>
          {retriable.includes(state) && (
            <ActionButton
              label="Retry"
              aria-label={`Retry ${key}`}
              changes={changes}
              run={() => retryWork(service, queue, key)}
            />
          )}
          {state !== 'running' && (
            <ConfirmButton
              label="Discard"
              aria-label={`Discard ${key}`}
              question={`Discard ${key}?`}
              confirmLabel="Discard the work"
              changes={changes}
              run={() => discardWork(service, work)}
            >
              The work is deleted from {queue}: its effect never happens. This cannot be undone.
            </ConfirmButton>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function WorkDetail({ service, work }: { service: string; work: Work }) {
  const query = useQuery(oneWorkQuery(service, work));
  return (
    <Loaded query={query}>
      {(found) => {
        if (found === null) return <Text>It has finished, or was discarded.</Text>;
        const { payload, ...rest } = found;
        return (
          <Stack gap="sm">
            <Json label="Work" value={rest} />
            <Json label="Payload" value={JSON.parse(payload ?? 'null') as unknown} />
          </Stack>
        );
      }}
    </Loaded>
  );
}
