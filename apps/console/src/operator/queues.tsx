import { Button, Code, Group, Select, Stack, Table, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { ActionButton, ConfirmButton } from '../parts/change-buttons';
import { Detail } from '../parts/detail';
import { Empty } from '../parts/empty';
import { FilterInput } from '../parts/filter-input';
import { Json } from '../parts/json';
import { Loaded } from '../parts/loaded';
import { Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import {
  discardWork,
  maxListed,
  oneWorkQuery,
  retryWork,
  services,
  type Work,
  workKey,
  workQuery,
  workStates,
} from './queries';

const route = '/w/$workspaceId/operator';
const columns = ['Service', 'Queue', 'Key', 'State', 'Attempts', 'Due', 'Last error', 'Actions'];
const all = 'any';
const retriable = ['failed', 'waiting', 'parked'];

/** Queues of all services or of one, the oldest work first. */
export function Queues() {
  const { service = all, state = 'failed', queue } = useSearch({ from: route });
  const navigate = useNavigate({ from: route });
  const change = (next: Record<string, string | undefined>) =>
    void navigate({ search: (former) => ({ ...former, ...next }), replace: true });
  const query = useQuery(
    workQuery({
      service: services.find((known) => known === service),
      state: workStates.find((known) => known === state),
      queue,
    }),
  );
  const [shown, setShown] = useState<Work>();
  return (
    <Stack>
      <Group align="end">
        <Select
          label="Service"
          data={[all, ...services]}
          value={service}
          allowDeselect={false}
          onChange={(value) => value && change({ service: value })}
        />
        <Select
          label="State"
          data={[all, ...workStates]}
          value={state}
          allowDeselect={false}
          onChange={(value) => value && change({ state: value })}
        />
        <FilterInput label="Queue" value={queue} onApply={(text) => change({ queue: text })} />
      </Group>
      <Loaded query={query}>
        {(work) =>
          work.length === 0 ? (
            <Empty title="No work in this state">Choose another service or state to see more.</Empty>
          ) : (
            <>
              <FailedQueues work={work} />
              {work.length > maxListed && <Text size="sm">Only the oldest {maxListed} are shown.</Text>}
              <Rows label="Work" columns={columns}>
                {work.slice(0, maxListed).map((each) => (
                  <WorkRow key={`${each.queue} ${each.key}`} work={each} onShow={() => setShown(each)} />
                ))}
              </Rows>
            </>
          )
        }
      </Loaded>
      <Detail title={shown?.queue} onClose={() => setShown(undefined)}>
        {shown && <WorkDetail work={shown} />}
      </Detail>
    </Stack>
  );
}

/** Retries all failed work of a queue at once. */
function FailedQueues({ work }: { work: Work[] }) {
  const failed = work.filter(({ state }) => state === 'failed');
  const queues = new Map(failed.map(({ service, queue }) => [queue, service]));
  return (
    <Group gap="xs">
      {[...queues].map(([queue, service]) => (
        <ConfirmButton
          key={queue}
          label={`Retry all failed of ${queue}`}
          button={{ variant: 'default' }}
          question={`Retry all failed work of ${queue}?`}
          confirmLabel="Retry all"
          changes={workKey}
          run={() => retryWork({ service, queue })}
        >
          All failed work of this queue starts at once, with new attempts.
        </ConfirmButton>
      ))}
    </Group>
  );
}

function WorkRow({ work, onShow }: { work: Work; onShow: () => void }) {
  const { service, queue, key, state, attempts, dueAt, lastError, isDueRow } = work;
  return (
    <Table.Tr>
      <Table.Td>{service}</Table.Td>
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
            <ActionButton label="Retry" aria-label={`Retry ${key}`} changes={workKey} run={() => retryWork(work)} />
          )}
          {state !== 'running' && !isDueRow && (
            <ConfirmButton
              label="Discard"
              aria-label={`Discard ${key}`}
              question={`Discard ${key}?`}
              confirmLabel="Discard the work"
              changes={workKey}
              run={() => discardWork(work)}
            >
              The work is deleted from {queue}: its effect never happens. This cannot be undone.
            </ConfirmButton>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function WorkDetail({ work }: { work: Work }) {
  const query = useQuery(oneWorkQuery(work));
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
