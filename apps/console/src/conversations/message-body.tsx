import { Anchor, Badge, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { Json } from '../parts/json';
import { safeUrl } from '../parts/safe-url';

type Payload = Record<string, unknown>;

const urlFields = ['imageUrl', 'audioUrl', 'videoUrl', 'fileUrl'] as const;

/**
 * Content of a message as text and links. Media are links, not embedded: the page requests nothing from other origins,
 * and HTML in a payload stays text.
 */
export function MessageBody({ type, payload }: { type: string; payload: Payload }) {
  switch (type) {
    case 'text':
    case 'markdown':
      return <Words value={payload['text'] ?? payload['markdown']} />;
    case 'image':
    case 'audio':
    case 'video':
    case 'file': {
      const url = urlFields.map((field) => payload[field]).find((value) => typeof value === 'string');
      return <Link url={String(url ?? '')}>{textOf(payload['title']) || `${type} ${url ?? ''}`}</Link>;
    }
    case 'location':
      return (
        <Words
          value={[
            payload['title'],
            payload['address'],
            `${textOf(payload['latitude'])}, ${textOf(payload['longitude'])}`,
          ]
            .map(textOf)
            .filter(Boolean)
            .join('\n')}
        />
      );
    case 'choice':
    case 'dropdown':
      return (
        <Stack gap={4}>
          <Words value={payload['text']} />
          <Labels entries={recordsIn(payload['options'])} />
        </Stack>
      );
    case 'card':
      return <Card payload={payload} />;
    case 'carousel':
      return (
        <Stack gap="xs">
          {recordsIn(payload['items']).map((item, index) => (
            <Card key={index} payload={item} />
          ))}
        </Stack>
      );
    case 'bloc':
      return (
        <Stack gap="xs">
          {recordsIn(payload['items']).map((item, index) => (
            <MessageBody
              key={index}
              type={textOf(item['type'])}
              payload={(item['payload'] as Payload | undefined) ?? {}}
            />
          ))}
        </Stack>
      );
    default:
      return <Json label={`Message of type ${type}`} value={payload} />;
  }
}

function Card({ payload }: { payload: Payload }) {
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {textOf(payload['title'])}
      </Text>
      <Words value={payload['subtitle']} />
      {typeof payload['imageUrl'] === 'string' && <Link url={payload['imageUrl']}>{payload['imageUrl']}</Link>}
      {recordsIn(payload['actions']).map((action, index) =>
        action['action'] === 'url' ? (
          <Link key={index} url={textOf(action['value'])}>
            {textOf(action['label'])}
          </Link>
        ) : (
          <Labels key={index} entries={[action]} />
        ),
      )}
    </Stack>
  );
}

function Labels({ entries }: { entries: Payload[] }) {
  return (
    <Group gap={4}>
      {entries.map((entry, index) => (
        <Badge key={index} variant="default" tt="none" title={textOf(entry['value'])}>
          {textOf(entry['label'])}
        </Badge>
      ))}
    </Group>
  );
}

function Words({ value }: { value: unknown }) {
  return (
    <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
      {textOf(value)}
    </Text>
  );
}

/** Plain text unless the URL is one of the web. */
function Link({ url, children }: { url: string; children: ReactNode }) {
  const href = safeUrl(url);
  if (href === undefined)
    return (
      <Text size="sm">
        {children} ({url})
      </Text>
    );
  return (
    <Anchor size="sm" href={href} target="_blank" rel="noopener noreferrer" style={{ overflowWrap: 'anywhere' }}>
      {children}
    </Anchor>
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function recordsIn(value: unknown): Payload[] {
  return Array.isArray(value)
    ? value.filter((entry): entry is Payload => typeof entry === 'object' && entry !== null)
    : [];
}
