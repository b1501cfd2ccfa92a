import { Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { botQuery } from '../api/queries';
import { Detail } from '../parts/detail';
import { Json } from '../parts/json';
import { Loaded } from '../parts/loaded';
import { Section } from '../parts/section';
import { Time } from '../parts/time';
import { stateQuery } from './queries';

/**
 * States of a conversation that the bot declares. Each is read on demand only, because reading one postpones its
 * expiry.
 */
export function States() {
  const { workspaceId, botId, conversationId } = useParams({
    from: '/w/$workspaceId/bots/$botId/conversations/$conversationId',
  });
  const bot = useQuery(botQuery(workspaceId, botId));
  const [shown, setShown] = useState<string>();
  return (
    <Section title="States">
      <Loaded query={bot}>
        {({ states }) => {
          const names = Object.entries(states).flatMap(([name, { type }]) => (type === 'conversation' ? [name] : []));
          if (names.length === 0) return <Text size="sm">The bot declares no state of conversations.</Text>;
          return (
            <Group gap="xs">
              {names.map((name) => (
                <Button
                  key={name}
                  size="compact-sm"
                  variant="default"
                  aria-label={`Show the state ${name}`}
                  onClick={() => setShown(name)}
                >
                  {name}
                </Button>
              ))}
            </Group>
          );
        }}
      </Loaded>
      <Detail title={shown} onClose={() => setShown(undefined)}>
        {shown !== undefined && <State botId={botId} conversationId={conversationId} name={shown} />}
      </Detail>
    </Section>
  );
}

function State({ botId, conversationId, name }: { botId: string; conversationId: string; name: string }) {
  const query = useQuery(stateQuery(botId, conversationId, name));
  return (
    <Loaded query={query}>
      {({ payload, updatedAt }) => (
        <Stack gap="sm">
          <Text size="sm">
            Changed <Time at={updatedAt} />
          </Text>
          <Json label={`State ${name}`} value={payload} />
        </Stack>
      )}
    </Loaded>
  );
}
