import type { Bot, UpdateBot } from '@parley/contracts/admin/bots';
import { type ActionDefinition, definitionLimits, type EventDefinition } from '@parley/contracts/definition';
import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import { schemaProblem } from '@parley/json-schema/schema-problem';

/** Of all that a bot declares, so that its answer always fits the bus. */
const maxDefinitionBytes = 10_000_000;

type Part =
  | 'states'
  | 'events'
  | 'recurringEvents'
  | 'subscriptions'
  | 'actions'
  | 'configuration'
  | 'user'
  | 'conversation'
  | 'message';
/** What a bot declares, as it is stored: every part present. */
export type BotDefinition = Pick<Bot, Part>;
/** What creating or updating a bot says of it. */
type DefinitionChanges = Pick<UpdateBot, Part>;
type JsonSchema = Record<string, unknown>;

export const emptyDefinition: BotDefinition = {
  states: {},
  events: {},
  recurringEvents: {},
  subscriptions: { events: null },
  actions: {},
  configuration: { data: {}, schema: {} },
  user: { tags: {} },
  conversation: { tags: {} },
  message: { tags: {} },
};

/** The definition after the changes. Throws InvalidPayload, with the field's name, when something would be too many. */
export function changeDefinition(current: BotDefinition, changes: DefinitionChanges): BotDefinition {
  const { states, events, recurringEvents, subscriptions, actions, configuration, user, conversation, message } =
    changes;
  const definition: BotDefinition = {
    states: mergeEntries(current.states, states),
    events: mergeEntries(current.events, mapEntries(events, withoutNullAttributes<EventDefinition>)),
    recurringEvents: mergeEntries(
      current.recurringEvents,
      mapEntries(recurringEvents, (event) => ({ ...event, failedAttempts: 0, lastFailureReason: null })),
    ),
    subscriptions:
      subscriptions?.events === undefined
        ? current.subscriptions
        : { events: subscriptions.events && withoutNulls(subscriptions.events) },
    actions: mergeEntries(current.actions, mapEntries(actions, withoutNullAttributes<ActionDefinition>)),
    configuration: {
      data: configuration?.data ?? current.configuration.data,
      schema: configuration?.schema ?? current.configuration.schema,
    },
    user: { tags: mergeEntries(current.user.tags, user?.tags) },
    conversation: { tags: mergeEntries(current.conversation.tags, conversation?.tags) },
    message: { tags: mergeEntries(current.message.tags, message?.tags) },
  };
  requireAtMost(definitionLimits.states, 'states', definition.states);
  requireAtMost(definitionLimits.events, 'events', definition.events);
  requireAtMost(definitionLimits.recurringEvents, 'recurringEvents', definition.recurringEvents);
  requireAtMost(definitionLimits.actions, 'actions', definition.actions);
  requireAtMost(definitionLimits.tags, 'user.tags', definition.user.tags);
  requireAtMost(definitionLimits.tags, 'conversation.tags', definition.conversation.tags);
  requireAtMost(definitionLimits.tags, 'message.tags', definition.message.tags);
  if (Buffer.byteLength(JSON.stringify(definition)) > maxDefinitionBytes) {
    throw new ApiError(
      'LimitExceeded',
      `All definitions of a bot together must be at most ${maxDefinitionBytes} bytes.`,
    );
  }
  return definition;
}

/** An entry replaces the one of its name as a whole, and `null` removes it. */
export function mergeEntries<T>(current: Record<string, T>, changes: Record<string, T | null> = {}): Record<string, T> {
  return withoutNulls<T>({ ...current, ...changes });
}

export function requireAtMost(max: number, field: string, entries: Record<string, unknown>): void {
  const count = Object.keys(entries).length;
  if (count <= max) return;
  throw new ApiError(
    'InvalidPayload',
    `${field} must have at most ${max} entries and would have ${count}: remove some by null.`,
  );
}

/** Throws InvalidJsonSchema with the path of a schema that is none, InvalidPayload for subscriptions that are none. */
export function checkDefinition(changes: DefinitionChanges): void {
  const { states, events, actions, configuration, subscriptions } = changes;
  for (const [name, state] of Object.entries(states ?? {})) checkSchema(`states.${name}.schema`, state?.schema);
  for (const [name, event] of Object.entries(events ?? {})) checkSchema(`events.${name}.schema`, event?.schema);
  for (const [name, action] of Object.entries(actions ?? {})) {
    checkSchema(`actions.${name}.input.schema`, action?.input.schema);
    checkSchema(`actions.${name}.output.schema`, action?.output.schema);
  }
  checkSchema('configuration.schema', configuration?.schema);
  for (const [name, filter] of Object.entries(subscriptions?.events ?? {})) {
    if (filter !== null && !isRecord(filter))
      throw new ApiError('InvalidPayload', `subscriptions.events.${name} must be an object.`);
  }
}

function checkSchema(path: string, schema: JsonSchema | undefined): void {
  const problem = schema && schemaProblem(schema);
  if (problem) throw new ApiError('InvalidJsonSchema', `${path} ${problem}.`);
}

function mapEntries<T, R>(
  entries: Record<string, T | null> | undefined,
  change: (entry: T) => R,
): Record<string, R | null> | undefined {
  if (!entries) return undefined;
  return Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [name, entry === null ? null : change(entry)]),
  );
}

function withoutNullAttributes<T extends { attributes?: Record<string, string> }>(
  entry: Omit<T, 'attributes'> & { attributes?: Record<string, string | null> },
): T {
  const { attributes, ...rest } = entry;
  return (attributes ? { ...rest, attributes: withoutNulls(attributes) } : rest) as T;
}

function withoutNulls<T>(entries: Record<string, T | null>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([, entry]) => entry !== null)) as Record<string, T>;
}
