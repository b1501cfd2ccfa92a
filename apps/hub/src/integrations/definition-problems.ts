import { ApiError } from '@parley/contracts/errors';
import type { IntegrationDefinition } from '@parley/contracts/hub/integration-definition';
import { schemaProblem } from '@parley/json-schema/schema-problem';

/** Entries that a definition may have at most. */
const limits = { states: 20, events: 20, channels: 10, messages: 20, tags: 50, secrets: 25, interfaces: 50 };
const otherEntries = 1000;

/**
 * Throws InvalidPayload for a definition with too many of something, and InvalidJsonSchema for one of its schemas that is
 * none; both with the path of what is wrong.
 */
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
  for (const [path, schema] of schemasOf(definition)) {
    const problem = schemaProblem(schema);
    if (problem) throw new ApiError('InvalidJsonSchema', `${path} ${problem}.`);
  }
}

export function checkSecrets(secrets: Record<string, string>): void {
  checkCount('secrets', secrets, limits.secrets);
}

export function checkInterfaces(interfaces: Record<string, unknown>): void {
  checkCount('interfaces', interfaces, limits.interfaces);
}

/** Every JSON schema of a definition with its path. */
function schemasOf(definition: IntegrationDefinition): [string, Record<string, unknown>][] {
  const of = (path: string, entries: Record<string, { schema: Record<string, unknown> }>) =>
    Object.entries(entries).map(([name, { schema }]): [string, Record<string, unknown>] => [
      `${path}.${name}.schema`,
      schema,
    ]);
  return [
    ['configuration.schema', definition.configuration.schema],
    ...of('configurations', definition.configurations),
    ...of('states', definition.states),
    ...of('events', definition.events),
    ...of('entities', definition.entities),
    ...Object.entries(definition.channels).flatMap(([name, { messages }]) => of(`channels.${name}.messages`, messages)),
    ...Object.entries(definition.actions).flatMap(([name, { input, output }]) =>
      of(`actions.${name}`, { input, output }),
    ),
  ];
}

function checkCount(path: string, entries: Record<string, unknown>, max: number): void {
  if (Object.keys(entries).length > max)
    throw new ApiError('InvalidPayload', `${path} must have at most ${max} entries.`);
}
