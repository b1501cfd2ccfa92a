import { IsString } from 'class-validator';
import {
  ActionChange,
  ActionDefinition,
  EventChange,
  EventDefinition,
  maxSchemaBytes,
  removable,
  StateDefinition,
  TagDefinition,
  TagDefinitionChanges,
  TagDefinitions,
} from '../definition';
import { JsonObject, MapOf, Nested, Optional } from '../fields';
import { PublicationDraft } from './publication';

export class PluginConfiguration extends TagDefinition {
  @JsonObject({ maxBytes: maxSchemaBytes }) schema!: Record<string, unknown>;
}

/**
 * Definitions that a plugin adds to the bots that have it installed. A `$ref` to an entity has the form
 * `interface:<alias>/entities/<entity>`.
 */
export class PluginDefinition {
  @Nested(PluginConfiguration) configuration!: PluginConfiguration;
  @MapOf(StateDefinition, { maxEntries: 20 }) states!: Record<string, StateDefinition>;
  @MapOf(EventDefinition, { maxEntries: 20 }) events!: Record<string, EventDefinition>;
  @MapOf(ActionDefinition) actions!: Record<string, ActionDefinition>;
  @Nested(TagDefinitions) user!: { tags: Record<string, TagDefinition> };
  @Nested(TagDefinitions) conversation!: { tags: Record<string, TagDefinition> };
  @Nested(TagDefinitions) message!: { tags: Record<string, TagDefinition> };
  @MapOf(String) attributes!: Record<string, string>;
}

/** Dependency on a version, by its id, or by its name and `version` (default: `latest`). */
export class DependencyDraft {
  @Optional() @IsString() id?: string;
  @Optional() @IsString() name?: string;

  /** An exact version, a semver range, or `latest`. */
  @Optional() @IsString() version?: string;
}

export class DependenciesDraft {
  @Optional() @MapOf(DependencyDraft, removable) interfaces?: Record<string, DependencyDraft | null>;
  @Optional() @MapOf(DependencyDraft, removable) integrations?: Record<string, DependencyDraft | null>;
}

/** Definition of a plugin. Absent fields stay unchanged, or are empty in a new plugin. */
export class PluginDefinitionDraft extends PublicationDraft {
  @Nested(PluginConfiguration, { nullable: true }) configuration?: PluginConfiguration | null;
  @Optional() @MapOf(StateDefinition, removable) states?: Record<string, StateDefinition | null>;
  @Optional() @MapOf(EventChange, removable) events?: Record<string, EventChange | null>;
  @Optional() @MapOf(ActionChange, removable) actions?: Record<string, ActionChange | null>;
  @Optional() @Nested(TagDefinitionChanges) user?: TagDefinitionChanges;
  @Optional() @Nested(TagDefinitionChanges) conversation?: TagDefinitionChanges;
  @Optional() @Nested(TagDefinitionChanges) message?: TagDefinitionChanges;
  @Optional() @MapOf(String, { ...removable, maxLength: 200 }) attributes?: Record<string, string | null>;
}
