import { Code, Group, Switch, Table, TextInput } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { More, Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { Time } from '../parts/time';
import { callsQuery, costText, countText } from './queries';

const columns = ['Time', 'Kind', 'Model', 'Conversation', 'Event', 'Tokens', 'Cost', 'Latency', 'End'];

/** Calls of models by a bot, newest first. */
export function Calls({ botId }: { botId: string }) {
  const [conversationId, setConversationId] = useState('');
  const [eventId, setEventId] = useState('');
  const [isWhole, setWhole] = useState(false);
  const filter = { conversationId: conversationId.trim(), eventId: eventId.trim(), isWhole };
  const query = useInfiniteQuery(callsQuery(botId, filter));
  return (
    <Section title="Calls">
      <Group>
        <TextInput
          label="Conversation"
          value={conversationId}
          onChange={({ currentTarget }) => setConversationId(currentTarget.value)}
        />
        <TextInput label="Event" value={eventId} onChange={({ currentTarget }) => setEventId(currentTarget.value)} />
        <Switch
          label="Prompts and answers"
          checked={isWhole}
          onChange={({ currentTarget }) => setWhole(currentTarget.checked)}
        />
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const calls = pages.flatMap((page) => page.calls);
          if (calls.length === 0) return <Empty title="No calls">No call of a model fits in the last 30 days.</Empty>;
          return (
            <Rows label="Calls" columns={isWhole ? [...columns, 'Prompt', 'Answer'] : columns}>
              {calls.map((call) => (
                <Table.Tr key={call.id}>
                  <Table.Td>
                    <Time at={call.createdAt} />
                  </Table.Td>
                  <Table.Td>{call.kind}</Table.Td>
                  <Table.Td>{call.model ?? call.wantedModel}</Table.Td>
                  <Table.Td>{call.conversationId ?? '–'}</Table.Td>
                  <Table.Td>{call.eventId ?? '–'}</Table.Td>
                  <Table.Td>
                    {call.cached ? 'cached' : `${countText(call.inputTokens)} + ${countText(call.outputTokens)}`}
                  </Table.Td>
                  <Table.Td>{costText(call.cost)}</Table.Td>
                  <Table.Td>{countText(call.latency)} ms</Table.Td>
                  <Table.Td title={call.error}>{call.error ?? call.finish}</Table.Td>
                  {isWhole &&
                    [call.prompt, call.answer].map((text, place) => (
                      <Table.Td key={place}>{text === undefined ? 'not kept' : <Code block>{text}</Code>}</Table.Td>
                    ))}
                </Table.Tr>
              ))}
            </Rows>
          );
        }}
      </Loaded>
      <More query={query} />
    </Section>
  );
}
