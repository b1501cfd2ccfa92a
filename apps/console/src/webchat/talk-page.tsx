import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { botQuery } from '../api/queries';
import type { BotParams } from '../bots/queries';
import { Empty } from '../parts/empty';
import { Loaded } from '../parts/loaded';
import { Page } from '../parts/page';
import { PageLink } from '../parts/page-link';
import { Widget } from './widget';

/** Conversation with the bot, as a visitor of its web chat. */
export function TalkPage() {
  const params = useParams({ from: '/w/$workspaceId/bots/$botId/talk' });
  const query = useQuery(botQuery(params.workspaceId, params.botId));
  return (
    <Page title="Talk to the bot">
      <Loaded query={query}>
        {({ integrations }) => {
          const chat = Object.values(integrations).find(({ name, enabled }) => name === 'chat' && enabled);
          return chat ? (
            <Talk params={params} webhookId={chat.webhookId} />
          ) : (
            <Empty title="No chat">The bot can be talked to here when the integration "chat" is installed.</Empty>
          );
        }}
      </Loaded>
    </Page>
  );
}

function Talk({ params, webhookId }: { params: BotParams; webhookId: string }) {
  const [conversationId, setConversation] = useState<string>();
  return (
    <>
      <Text size="sm">
        You are a visitor of the web chat.{' '}
        {conversationId ? (
          <PageLink
            to="/w/$workspaceId/bots/$botId/conversations/$conversationId"
            params={{ ...params, conversationId }}
            size="sm"
          >
            Transcript with events
          </PageLink>
        ) : (
          'Your first message begins a conversation.'
        )}
      </Text>
      <Widget webhookId={webhookId} onConversation={setConversation} />
    </>
  );
}
