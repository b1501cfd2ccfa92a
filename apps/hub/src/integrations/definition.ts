import type { ActionChange, EventChange } from '@parley/contracts/definition';
import type {
  ChannelDefinition,
  ChannelDraft,
  ConfigurationDefinition,
  ConfigurationDraft,
  CreatableDefinition,
  CreatableDraft,
  IntegrationDefinition,
  IntegrationDefinitionDraft,
} from '@parley/contracts/hub/integration-definition';
import { mergeEntries, withoutNulls } from '../publishing/merge-entries';

const noConfiguration: ConfigurationDefinition = { identifier: { required: false }, schema: {} };
const nothingCreatable: CreatableDefinition = { tags: {}, creation: { enabled: false, requiredTags: [] } };
const noChannel: ChannelDefinition = { messages: {}, conversation: nothingCreatable, message: { tags: {} } };

/** What an integration declares of which nothing was said. */
export const emptyDefinition: IntegrationDefinition = {
  configuration: noConfiguration,
  configurations: {},
  identifier: {},
  sandbox: {},
  channels: {},
  states: {},
  events: {},
  actions: {},
  entities: {},
  user: nothingCreatable,
  extraOperations: {},
};

/**
 * The definition after the change. Entries of maps are replaced whole and removed by `null`; channels are merged down to
 * their messages and tags, and the default configuration down to its fields.
 */
export function mergeDefinition(
  current: IntegrationDefinition,
  change: IntegrationDefinitionDraft,
): IntegrationDefinition {
  return {
    configuration: mergeConfiguration(current.configuration, change.configuration),
    configurations: mergeEntries(
      current.configurations,
      mapEntries(change.configurations, (draft) => mergeConfiguration(noConfiguration, draft)),
    ),
    identifier: mergeEntries(current.identifier as Record<string, string>, { ...change.identifier }),
    sandbox: mergeEntries(current.sandbox as Record<string, string>, { ...change.sandbox }),
    channels: mergeEntries(
      current.channels,
      mapEntries(change.channels, (draft, name) => mergeChannel(own(current.channels, name) ?? noChannel, draft)),
    ),
    states: mergeEntries(current.states, change.states),
    events: mergeEntries(current.events, mapEntries(change.events, withSetAttributes)),
    actions: mergeEntries(current.actions, mapEntries(change.actions, withSetAttributes)),
    entities: mergeEntries(current.entities, change.entities),
    user: mergeCreatable(current.user, change.user),
    extraOperations: mergeEntries(current.extraOperations, change.extraOperations),
  };
}

function mergeConfiguration(
  current: ConfigurationDefinition,
  { identifier, ...change }: ConfigurationDraft = {},
): ConfigurationDefinition {
  const merged = withoutNulls<unknown>({ ...current.identifier, ...identifier });
  return { ...current, ...change, identifier: merged as ConfigurationDefinition['identifier'] };
}

function mergeChannel(
  current: ChannelDefinition,
  { messages, conversation, message, ...labels }: ChannelDraft,
): ChannelDefinition {
  return {
    ...current,
    ...labels,
    messages: mergeEntries(current.messages, messages),
    conversation: mergeCreatable(current.conversation, conversation),
    message: { tags: mergeEntries(current.message.tags, message?.tags) },
  };
}

function mergeCreatable(current: CreatableDefinition, { tags, creation }: CreatableDraft = {}): CreatableDefinition {
  return { tags: mergeEntries(current.tags, tags), creation: creation ?? current.creation };
}

/** An entry is replaced whole: an attribute that is said to be `null` is just not there. */
function withSetAttributes<T extends EventChange | ActionChange>({ attributes, ...rest }: T) {
  return attributes ? { ...rest, attributes: withoutNulls(attributes) } : rest;
}

function mapEntries<T, R>(
  entries: Record<string, T | null> | undefined,
  map: (entry: T, name: string) => R,
): Record<string, R | null> {
  return Object.fromEntries(
    Object.entries(entries ?? {}).map(([name, entry]) => [name, entry === null ? null : map(entry, name)]),
  );
}

/** Any name may be one of a channel, also that of something which every object has. */
function own<T>(entries: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}
