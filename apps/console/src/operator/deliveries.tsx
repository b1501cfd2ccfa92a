import { Button, Code, Group, Select, Stack, Table, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ActionButton, ConfirmButton } from '../parts/change-buttons';
import { Empty } from '../parts/empty';
import { textIn } from '../parts/form-text';
import { Loaded } from '../parts/loaded';
import { More, Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import { deliveriesKey, deliveriesQuery, deliveryStatuses, replayEvents } from './queries';

const columns = ['Time', 'Event', 'Type', 'Status', 'Attempts', 'Reason', 'Actions'];
const settled = ['failed', 'ignored', 'processed'];

/** Deliveries to any bot. */
export function Deliveries() {
  const [botId, setBotId] = useState('');
  const [status, setStatus] = useState<string | null>(null);
  const query = useInfiniteQuery(deliveriesQuery(botId, status ?? undefined));
  const changes = deliveriesKey(botId);
  const show = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setBotId(textIn(new FormData(event.currentTarget), 'botId'));
  };
  return (
    <Stack>
      <form onSubmit={show}>
        <Group align="end">
          <TextInput name="botId" label="Id of a bot, of any workspace" miw={320} required />
          <Select
            label="Status"
            placeholder="Any"
            clearable
            data={[...deliveryStatuses]}
            value={status}
            onChange={setStatus}
          />
          <Button type="submit">Show</Button>
        </Group>
      </form>
      {botId === '' ? (
        <Empty title="No bot is chosen">Paste the id of a bot to see the deliveries of its events.</Empty>
      ) : (
        <>
          <Group gap="xs">
            {(['failed', 'ignored'] as const).map((which) => (
              <ConfirmButton
                key={which}
                label={`Replay all ${which}`}
                button={{ variant: 'default' }}
                question={`Replay all ${which} events?`}
                confirmLabel="Replay all"
                changes={changes}
                run={() => replayEvents(botId, { status: which })}
              >
                The bot gets the oldest 1,000 of them once more, with new attempts.
              </ConfirmButton>
            ))}
          </Group>
          <Loaded query={query}>
            {({ pages }) => {
              const deliveries = pages.flatMap((page) => page.deliveries);
              if (deliveries.length === 0)
                return (
                  <Empty title="No deliveries">
                    The bot has none in this status, or they are older than DELIVERY_RETENTION_DAYS.
                  </Empty>
                );
              return (
                <Rows label="Deliveries" columns={columns}>
                  {deliveries.map(({ eventId, type, status: state, reason, createdAt, attempts }) => (
                    <Table.Tr key={eventId}>
                      <Table.Td>
                        <Time at={createdAt} />
                      </Table.Td>
                      <Table.Td>
                        <Code>{eventId}</Code>
                      </Table.Td>
                      <Table.Td>{type}</Table.Td>
                      <Table.Td>
                        <Status value={state} />
                      </Table.Td>
                      <Table.Td>{attempts.length}</Table.Td>
                      <Table.Td>{reason}</Table.Td>
                      <Table.Td>
                        {settled.includes(state) && (
                          <ActionButton
                            label="Replay"
                            aria-label={`Replay ${eventId}`}
                            changes={changes}
                            run={() => replayEvents(botId, { eventId })}
                          />
                        )}
                      </Table.Td>
                    </Table.Tr>
                  ))}
                </Rows>
              );
            }}
          </Loaded>
          <More query={query} />
        </>
      )}
    </Stack>
  );
}
