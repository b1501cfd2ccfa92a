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
import { mapChange, mergeEntries, ownEntry, withoutNullAttributes, withoutNulls } from '@parley/contracts/entries';

const noConfiguration: ConfigurationDefinition = { identifier: { required: false }, schema: {} };
const nothingCreatable: CreatableDefinition = { tags: {}, creation: { enabled: false, requiredTags: [] } };
const noChannel: ChannelDefinition = { messages: {}, conversation: nothingCreatable, message: { tags: {} } };

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

/** Names of the opt-in operations that integrations receive. */
export function enabledOperations(operations: IntegrationDefinition['extraOperations']): string[] {
  return Object.keys(operations).filter((name) => operations[name]!.enabled);
}

/**
 * Merges a change into the definition. Entries of maps are replaced completely and removed by `null`; channels are
 * merged down to their messages and tags, and the default configuration down to its fields.
 */
export function mergeDefinition(
  current: IntegrationDefinition,
  change: IntegrationDefinitionDraft,
): IntegrationDefinition {
  return {
    configuration: mergeConfiguration(current.configuration, change.configuration),
    configurations: mergeEntries(
      current.configurations,
      mapChange(change.configurations, (draft) => mergeConfiguration(noConfiguration, draft)),
    ),
    identifier: mergeEntries(current.identifier as Record<string, string>, { ...change.identifier }),
    sandbox: mergeEntries(current.sandbox as Record<string, string>, { ...change.sandbox }),
    channels: mergeEntries(
      current.channels,
      mapChange(change.channels, (draft, name) => mergeChannel(ownEntry(current.channels, name) ?? noChannel, draft)),
    ),
    states: mergeEntries(current.states, change.states),
    events: mergeEntries(current.events, withoutNullAttributes(change.events)),
    actions: mergeEntries(current.actions, withoutNullAttributes(change.actions)),
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
