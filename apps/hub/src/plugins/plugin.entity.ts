import type { PluginDefinition, PluginDefinitionDraft } from '@parley/contracts/hub/plugin-definition';
import type { Dependencies, Plugin, PluginEntry } from '@parley/contracts/hub/plugins';
import type { InstallablePlugin } from '@parley/contracts/hub/resolution';
import { mapEntries, mergeEntries, withoutNullAttributes } from '@parley/contracts/entries';
import { shownConfigurationSchema } from '@parley/contracts/schemas';
import { toLabels } from '../publishing/labels';
import type { PublicationRow } from '../publishing/publications.repository';

export interface PluginRow extends PublicationRow {
  definition: PluginDefinition;
  dependencies: Dependencies;
}

const empty: PluginDefinition = {
  configuration: { schema: {} },
  states: {},
  events: {},
  actions: {},
  user: { tags: {} },
  conversation: { tags: {} },
  message: { tags: {} },
  attributes: {},
};

/** Merges a draft into a definition: named entries are replaced, `null` removes them. */
export function changeDefinition(draft: PluginDefinitionDraft, old = empty): PluginDefinition {
  const { configuration = old.configuration } = draft;
  return {
    configuration: configuration ?? empty.configuration,
    states: mergeEntries(old.states, draft.states),
    events: mergeEntries(old.events, withoutNullAttributes(draft.events)),
    actions: mergeEntries(old.actions, withoutNullAttributes(draft.actions)),
    user: { tags: mergeEntries(old.user.tags, draft.user?.tags) },
    conversation: { tags: mergeEntries(old.conversation.tags, draft.conversation?.tags) },
    message: { tags: mergeEntries(old.message.tags, draft.message?.tags) },
    attributes: mergeEntries(old.attributes, draft.attributes),
  };
}

export function toPlugin({ definition, dependencies, ...row }: PluginRow): Plugin {
  const { attributes, configuration, ...parts } = definition;
  return {
    ...toPluginEntry(row),
    configuration: { ...configuration, schema: shownConfigurationSchema(configuration.schema) },
    ...parts,
    dependencies,
    ...(Object.keys(attributes).length > 0 ? { attributes } : {}),
  };
}

export function toInstallable(alias: string, { definition, dependencies, ...row }: PluginRow): InstallablePlugin {
  const { public: _public, ...entry } = toPluginEntry(row);
  const { configuration, states, events, actions, user, conversation, message } = definition;
  return {
    ...entry,
    alias,
    verificationStatus: 'unapproved',
    configurationSchema: configuration.schema,
    states,
    events,
    actions,
    userTags: user.tags,
    conversationTags: conversation.tags,
    messageTags: message.tags,
    interfaces: mapEntries(dependencies.interfaces, ({ id }) => id),
    integrations: mapEntries(dependencies.integrations, ({ id }) => id),
  };
}

export function toPluginEntry(row: PublicationRow): PluginEntry {
  return {
    ...toLabels(row),
    public: row.visibility === 'public',
    visibility: row.visibility,
    // Plugins cannot be deprecated in this version.
    lifecycleStatus: 'published',
  };
}
