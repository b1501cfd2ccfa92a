import { Box, Button, Center, Code, Group, Paper, Stack, Table, Text } from '@mantine/core';
import type { Message, User } from '@botpress/client';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { EventsTable } from '../events/events-table';
import { eventsQuery } from '../events/queries';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { Rows } from '../parts/rows';
import { Section } from '../parts/section';
import { Tags } from '../parts/tags';
import { Time } from '../parts/time';
import { States } from './states';
import { MessageBody } from './message-body';
import { conversationQuery, messagesQuery, participantsQuery } from './queries';

export function ConversationPage() {
  const { botId, conversationId } = useParams({ from: '/w/$workspaceId/bots/$botId/conversations/$conversationId' });
  const conversation = useQuery(conversationQuery(botId, conversationId));
  const participants = useQuery(participantsQuery(botId, conversationId));
  const messages = useInfiniteQuery(messagesQuery(botId, conversationId));
  const nameOf = (userId: string) => participants.data?.find(({ id }) => id === userId)?.name || userId;
  return (
    <Page title="Conversation">
      <Loaded query={conversation}>
        {({ id, integration, channel, createdAt, tags }) => (
          <Stack gap={4}>
            <Text size="sm">
              {integration}, channel {channel}, since <Time at={createdAt} />
            </Text>
            <Code>{id}</Code>
            <Tags tags={tags} />
          </Stack>
        )}
      </Loaded>
      <Section title="Participants">
        <Loaded query={participants}>{(users) => <Participants users={users} />}</Loaded>
      </Section>
      <States />
      <Section title="Transcript">
        <Loaded query={messages}>
          {({ pages }) => {
            const shown = pages.flatMap((page) => page.messages).reverse();
            if (shown.length === 0) return <Empty title="No messages" />;
            return (
              <>
                {messages.hasNextPage && (
                  <Center>
                    <Button variant="default" size="xs" onClick={() => void messages.fetchNextPage()}>
                      Show earlier messages
                    </Button>
                  </Center>
                )}
                <Stack role="log" aria-label="Transcript">
                  {shown.map((message) => (
                    <TranscriptMessage key={message.id} message={message} name={nameOf(message.userId)} botId={botId} />
                  ))}
                </Stack>
              </>
            );
          }}
        </Loaded>
      </Section>
    </Page>
  );
}

function Participants({ users }: { users: User[] }) {
  if (users.length === 0) return <Text size="sm">Nobody</Text>;
  return (
    <Rows label="Participants" columns={['Name', 'Id', 'Tags']}>
      {users.map(({ id, name, tags }) => (
        <Table.Tr key={id}>
          <Table.Td>{name || '–'}</Table.Td>
          <Table.Td>
            <Code>{id}</Code>
          </Table.Td>
          <Table.Td>
            <Tags tags={tags} />
          </Table.Td>
        </Table.Tr>
      ))}
    </Rows>
  );
}

function TranscriptMessage({ message, name, botId }: { message: Message; name: string; botId: string }) {
  const [isOpen, setOpen] = useState(false);
  const isIncoming = message.direction === 'incoming';
  return (
    <Paper withBorder p="sm" maw={640} w="100%" ml={isIncoming ? 0 : 'auto'}>
      <Group justify="space-between" mb={4}>
        <Text size="xs" fw={600}>
          {isIncoming ? name : 'Bot'}
        </Text>
        <Text size="xs">
          <Time at={message.createdAt} />
        </Text>
      </Group>
      <Box>
        <MessageBody type={message.type} payload={message.payload} />
      </Box>
      <Tags tags={message.tags} />
      <Button
        mt="xs"
        size="compact-xs"
        variant="default"
        aria-expanded={isOpen}
        onClick={() => setOpen((former) => !former)}
      >
        {isOpen ? 'Hide events' : 'Show events'}
      </Button>
      {isOpen && <MessageEvents botId={botId} messageId={message.id} />}
    </Paper>
  );
}

function MessageEvents({ botId, messageId }: { botId: string; messageId: string }) {
  const query = useInfiniteQuery(eventsQuery(botId, { messageId }));
  return (
    <Loaded query={query}>
      {({ pages }) => {
        const events = pages.flatMap((page) => page.events);
        return events.length === 0 ? (
          <Text size="sm">This message has no events.</Text>
        ) : (
          <EventsTable events={events} />
        );
      }}
    </Loaded>
  );
}
