import { IsArray, IsBoolean, IsIn, IsString, MaxLength } from 'class-validator';
import {
  ActionChange,
  ActionDefinition,
  definitionName,
  EntityDefinition,
  EventChange,
  EventDefinition,
  maxSchemaBytes,
  removable,
  Schema,
  TagDefinition,
  TagDefinitionChanges,
} from '../definition';
import { JsonObject, MapOf, Nested, Nullable, Optional } from '../fields';
import { PublicationDraft } from './publication';

export class ConfigurationLink {
  @Optional() @IsBoolean() required?: boolean;

  /** VRL script that creates the link which connects an installation; `null` clears it. */
  @Nullable() @IsString() @MaxLength(2000) linkTemplateScript?: string | null;
}

export class ConfigurationDraft extends TagDefinition {
  @Optional() @JsonObject({ maxBytes: maxSchemaBytes }) schema?: Record<string, unknown>;
  @Optional() @Nested(ConfigurationLink) identifier?: ConfigurationLink;
}

/** VRL scripts that find the installation for a request to a shared webhook; `null` clears a script. */
export class InstallationScripts {
  @Nullable() @IsString() @MaxLength(2000) fallbackHandlerScript?: string | null;
  @Nullable() @IsString() @MaxLength(2000) extractScript?: string | null;
}

export class SandboxScripts {
  @Nullable() @IsString() @MaxLength(2000) identifierExtractScript?: string | null;
  @Nullable() @IsString() @MaxLength(2000) messageExtractScript?: string | null;
}

export class Creation {
  @IsBoolean() enabled!: boolean;
  @IsArray() @IsString({ each: true }) requiredTags!: string[];
}

/** Definition of users or conversations that bots may create through the integration. */
export class CreatableDraft extends TagDefinitionChanges {
  @Optional() @Nested(Creation) creation?: Creation;
}

export class ChannelDraft extends TagDefinition {
  @Optional() @MapOf(Schema, removable) messages?: Record<string, Schema | null>;
  @Optional() @Nested(CreatableDraft) conversation?: CreatableDraft;
  @Optional() @Nested(TagDefinitionChanges) message?: TagDefinitionChanges;
}

export class IntegrationState extends Schema {
  @IsIn(['conversation', 'user', 'integration']) type!: 'conversation' | 'user' | 'integration';
}

/** Name, in the integration, of something that an interface declares. */
export class ImplementedName {
  @IsString() @MaxLength(200) name!: string;
}

export class ImplementationDraft {
  /** Version id of the interface. */
  @IsString() @MaxLength(36) id!: string;

  @Optional() @MapOf(ImplementedName, { key: definitionName }) entities?: Record<string, ImplementedName>;
  @Optional() @MapOf(ImplementedName, { key: definitionName }) actions?: Record<string, ImplementedName>;
  @Optional() @MapOf(ImplementedName, { key: definitionName }) events?: Record<string, ImplementedName>;
  @Optional() @MapOf(ImplementedName, { key: definitionName }) channels?: Record<string, ImplementedName>;
}

export class ExtraOperation {
  @IsBoolean() enabled!: boolean;
}

/** Definition of an integration. Absent fields stay unchanged, or are empty in a new integration. */
export class IntegrationDefinitionDraft extends PublicationDraft {
  @Optional() @Nested(ConfigurationDraft) configuration?: ConfigurationDraft;
  @Optional() @MapOf(ConfigurationDraft, removable) configurations?: Record<string, ConfigurationDraft | null>;
  @Optional() @Nested(InstallationScripts) identifier?: InstallationScripts;
  @Optional() @Nested(SandboxScripts) sandbox?: SandboxScripts;

  /** An existing channel is merged with the given one, including its messages and tags. */
  @Optional() @MapOf(ChannelDraft, removable) channels?: Record<string, ChannelDraft | null>;

  @Optional() @MapOf(IntegrationState, removable) states?: Record<string, IntegrationState | null>;
  @Optional() @MapOf(EventChange, removable) events?: Record<string, EventChange | null>;
  @Optional() @MapOf(ActionChange, removable) actions?: Record<string, ActionChange | null>;
  @Optional() @MapOf(EntityDefinition, removable) entities?: Record<string, EntityDefinition | null>;
  @Optional() @Nested(CreatableDraft) user?: CreatableDraft;
  @Optional() @MapOf(ImplementationDraft, removable) interfaces?: Record<string, ImplementationDraft | null>;

  /** Opt-in operations, such as `message_updated`, which integrations do not receive by default. */
  @Optional() @MapOf(ExtraOperation, removable) extraOperations?: Record<string, ExtraOperation | null>;
}

/** Configuration as answers show it, with all fields. */
export interface ConfigurationDefinition extends TagDefinition {
  identifier: { required: boolean; linkTemplateScript?: string };
  schema: Record<string, unknown>;
}

export interface CreatableDefinition {
  tags: Record<string, TagDefinition>;
  creation: Creation;
}

export interface ChannelDefinition extends TagDefinition {
  messages: Record<string, Schema>;
  conversation: CreatableDefinition;
  message: { tags: Record<string, TagDefinition> };
}

export interface IntegrationDefinition {
  configuration: ConfigurationDefinition;
  configurations: Record<string, ConfigurationDefinition>;
  identifier: { fallbackHandlerScript?: string; extractScript?: string };
  /** Empty when the integration has no sandbox. */
  sandbox: { identifierExtractScript?: string; messageExtractScript?: string };
  channels: Record<string, ChannelDefinition>;
  states: Record<string, IntegrationState>;
  events: Record<string, EventDefinition>;
  actions: Record<string, ActionDefinition>;
  entities: Record<string, EntityDefinition>;
  user: CreatableDefinition;
  extraOperations: Record<string, ExtraOperation>;
}
