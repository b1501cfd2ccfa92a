import { ApiError } from '@parley/contracts/errors';
import type { IntegrationDefinition } from '@parley/contracts/hub/integration-definition';
import { checkSchemas } from '@parley/json-schema/check-schemas';

const limits = {
  states: 20,
  events: 20,
  channels: 10,
  messages: 20,
  tags: 50,
  secrets: 25,
  interfaces: 50,
  attributes: 50,
};
const otherEntries = 1000;

/** Throws InvalidPayload for too many entries and InvalidJsonSchema for an invalid schema, both with the path. */
export function checkDefinition(definition: IntegrationDefinition): void {
  const { channels, user } = definition;
  checkCount('states', definition.states, limits.states);
  checkCount('events', definition.events, limits.events);
  checkCount('channels', channels, limits.channels);
  for (const kind of ['actions', 'entities', 'configurations', 'extraOperations'] as const) {
    checkCount(kind, definition[kind], otherEntries);
  }
  for (const [name, channel] of Object.entries(channels)) {
    checkCount(`channels.${name}.messages`, channel.messages, limits.messages);
    checkCount(`channels.${name}.message.tags`, channel.message.tags, limits.tags);
    checkCount(`channels.${name}.conversation.tags`, channel.conversation.tags, limits.tags);
  }
  checkCount('user.tags', user.tags, limits.tags);
  checkSchemas(definition);
}

export function checkSecrets(secrets: Record<string, string>): void {
  checkCount('secrets', secrets, limits.secrets);
}

export function checkInterfaces(interfaces: Record<string, unknown>): void {
  checkCount('interfaces', interfaces, limits.interfaces);
}

export function checkAttributes(attributes: Record<string, string>): void {
  checkCount('attributes', attributes, limits.attributes);
}

function checkCount(path: string, entries: Record<string, unknown>, max: number): void {
  if (Object.keys(entries).length > max)
    throw new ApiError('InvalidPayload', `${path} must have at most ${max} entries.`);
}
