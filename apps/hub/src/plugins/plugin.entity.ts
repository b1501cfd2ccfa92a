import type { PluginDefinition, PluginDefinitionDraft } from '@parley/contracts/hub/plugin-definition';
import type { Dependencies, Plugin, PluginEntry } from '@parley/contracts/hub/plugins';
import type { InstallablePlugin } from '@parley/contracts/hub/resolution';
import { mapEntries, mergeEntries, withoutNullAttributes } from '@parley/contracts/entries';
import { shownConfigurationSchema } from '@parley/contracts/schemas';
import { Check, Column, Entity, ForeignKey, Index, Unique } from 'typeorm';
import { installedLabels, toLabels } from '../publishing/labels';
import { PublicationEntity, type PublicationRow } from '../publishing/publication.entity';
import { PluginCodeEntity } from './plugin-code.entity';

/** Version of a plugin. */
@Entity('plugin')
@Unique('plugin_version', ['name', 'workspace_id', 'version'])
@Check('plugin_visibility_check', "visibility IN ('public', 'private', 'unlisted')")
@Index('plugin_of_workspace', ['workspace_id', 'created_at', 'id'])
@Index('plugin_public', ['created_at', 'id'], { where: "visibility = 'public'" })
@Index('plugin_node_code', ['node_code'])
@Index('plugin_browser_code', ['browser_code'])
export class PluginEntity extends PublicationEntity {
  /** Data URL, or empty; so is `readme_url`. */
  @Column('text') icon_url!: string;

  @Column('text') readme_url!: string;

  /** `json`, not `jsonb`: keeps the order of properties in schemas. */
  @Column('json') definition!: PluginDefinition;

  @Column('bytea') @ForeignKey(() => PluginCodeEntity) node_code!: Buffer;
  @Column('bytea') @ForeignKey(() => PluginCodeEntity) browser_code!: Buffer;
}

export interface PluginRow extends PublicationRow, Pick<PluginEntity, 'definition'> {
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
    ...installedLabels(entry),
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
