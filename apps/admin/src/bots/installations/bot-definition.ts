import type { Bot, RecurringEvent, UpdateBot } from '@parley/contracts/admin/bots';
import { definitionLimits } from '@parley/contracts/definition';
import { mapChange, mergeEntries, withoutNullAttributes, withoutNulls } from '@parley/contracts/entries';
import { ApiError } from '@parley/contracts/errors';
import { isRecord } from '@parley/contracts/is-record';
import { checkSchemas } from '@parley/json-schema/check-schemas';

/** Limit for the whole definition, in bytes of JSON: the reply has to fit into one bus message. */
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
export type BotDefinition = Pick<Bot, Part>;
type DefinitionChanges = Pick<UpdateBot, Part>;

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

/**
 * Merges the changes into the definition. Throws InvalidPayload with the field's name when a map has too many entries,
 * LimitExceeded when the result has more than `maxDefinitionBytes`.
 */
export function changeDefinition(current: BotDefinition, changes: DefinitionChanges): BotDefinition {
  const { states, events, recurringEvents, subscriptions, actions, configuration, user, conversation, message } =
    changes;
  const definition: BotDefinition = {
    states: mergeEntries(current.states, states),
    events: mergeEntries(current.events, withoutNullAttributes(events)),
    recurringEvents: mergeEntries(
      current.recurringEvents,
      mapChange(recurringEvents, (event): RecurringEvent => ({ ...event, failedAttempts: 0, lastFailureReason: null })),
    ),
    subscriptions:
      subscriptions?.events === undefined
        ? current.subscriptions
        : { events: subscriptions.events && withoutNulls(subscriptions.events) },
    actions: mergeEntries(current.actions, withoutNullAttributes(actions)),
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
      `The definition of a bot must have at most ${maxDefinitionBytes} bytes: all of its states, events, actions, tags and configuration together.`,
    );
  }
  return definition;
}

export function requireAtMost(max: number, field: string, entries: Record<string, unknown>): void {
  const count = Object.keys(entries).length;
  if (count <= max) return;
  throw new ApiError(
    'InvalidPayload',
    `${field} must have at most ${max} entries and would have ${count}. Remove entries by setting them to null.`,
  );
}

/**
 * Throws InvalidJsonSchema with the path of an invalid schema, InvalidPayload for an event filter that is not an
 * object.
 */
export function checkDefinition(changes: DefinitionChanges): void {
  checkSchemas(changes);
  for (const [name, filter] of Object.entries(changes.subscriptions?.events ?? {})) {
    if (filter !== null && !isRecord(filter))
      throw new ApiError('InvalidPayload', `subscriptions.events.${name} must be an object.`);
  }
}
