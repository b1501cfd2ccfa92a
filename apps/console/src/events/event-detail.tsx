import { Code, Stack, Table, Text, Title } from '@mantine/core';
import type { Event } from '@botpress/client';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useCan } from '../api/role';
import { LogLines } from '../logs/log-lines';
import { linesOfEventQuery } from '../logs/queries';
import { ActionButton } from '../parts/change-buttons';
import { Facts } from '../parts/facts';
import { Json } from '../parts/json';
import { Loaded } from '../parts/loaded';
import { PageLink } from '../parts/page-link';
import { Rows } from '../parts/rows';
import { Status } from '../parts/status';
import { Time } from '../parts/time';
import { type Delivery, deliveryQuery, eventQuery, eventsKey, sendAgain } from './queries';

const repeatable = ['processed', 'failed', 'ignored'];

/** Event with the attempts to deliver it, live while the bot has not answered. */
export function EventDetail({ id }: { id: string }) {
  const { workspaceId = '', botId = '' } = useParams({ strict: false });
  const canWrite = useCan(workspaceId, 'write');
  const query = useQuery(eventQuery(botId, id));
  return (
    <Loaded query={query}>
      {(event) => (
        <Stack gap="sm">
          <Facts label="Event" facts={factsOf(event, { workspaceId, botId })} />
          <DeliveryOf event={event} botId={botId} />
          <LinesOf event={event} workspaceId={workspaceId} botId={botId} />
          {canWrite && repeatable.includes(event.status) && (
            <ActionButton
              label="Send again"
              button={{ size: 'sm', w: 'fit-content' }}
              changes={eventsKey(botId)}
              run={() => sendAgain(botId, id)}
            />
          )}
          <Title order={3} size="h5">
            Payload
          </Title>
          <Json label="Payload" value={event.payload} />
        </Stack>
      )}
    </Loaded>
  );
}

function factsOf(event: Event, params: { workspaceId: string; botId: string }): [string, ReactNode][] {
  const { id, type, status, createdAt, failureReason, conversationId } = event;
  const facts: [string, ReactNode][] = [
    ['Id', <Code key="id">{id}</Code>],
    ['Type', type],
    ['Status', <Status key="status" value={status} />],
    ['Created', <Time key="created" at={createdAt} />],
  ];
  if (failureReason) facts.push(['Reason', failureReason]);
  if (conversationId) {
    facts.push([
      'Conversation',
      <Stack key="conversation" gap={0}>
        <PageLink to="/w/$workspaceId/bots/$botId/conversations/$conversationId" params={{ ...params, conversationId }}>
          Transcript
        </PageLink>
        <PageLink to="/w/$workspaceId/bots/$botId/logs" params={params} search={{ conversationId }}>
          Log lines of the conversation
        </PageLink>
      </Stack>,
    ]);
  }
  return facts;
}

function DeliveryOf({ event, botId }: { event: Event; botId: string }) {
  const query = useQuery(deliveryQuery(botId, event.id, event.status));
  return (
    <>
      <Title order={3} size="h5">
        Delivery
      </Title>
      <Loaded query={query}>
        {(delivery) =>
          delivery === null ? (
            <Text size="sm">
              There is no record of a delivery: it is too old, the event is scheduled, or the bot has neither a URL nor
              code.
            </Text>
          ) : (
            <Attempts delivery={delivery} />
          )
        }
      </Loaded>
    </>
  );
}

/** Lines that the code of the bot printed for the event. */
function LinesOf({ event, ...bot }: { event: Event; workspaceId: string; botId: string }) {
  const query = useQuery(linesOfEventQuery(bot, event));
  return (
    <>
      <Title order={3} size="h5">
        Log lines
      </Title>
      <Loaded query={query}>
        {(lines) =>
          lines.length === 0 ? (
            <Text size="sm">The code of the bot has printed none for this event.</Text>
          ) : (
            <LogLines {...bot} lines={lines} />
          )
        }
      </Loaded>
    </>
  );
}

function Attempts({ delivery: { status, reason, attempts } }: { delivery: Delivery }) {
  return (
    <>
      <Text size="sm" component="div">
        <Status value={status} /> {reason}
      </Text>
      {attempts.length > 0 && (
        <Rows label="Attempts" columns={['Time', 'Duration', 'Answer', 'Error']}>
          {attempts.map(({ at, durationMs, status: answer, error }) => (
            <Table.Tr key={at}>
              <Table.Td>
                <Time at={at} />
              </Table.Td>
              <Table.Td>{durationMs} ms</Table.Td>
              <Table.Td>{answer === null ? 'none' : `HTTP ${answer}`}</Table.Td>
              <Table.Td>{error}</Table.Td>
            </Table.Tr>
          ))}
        </Rows>
      )}
    </>
  );
}
