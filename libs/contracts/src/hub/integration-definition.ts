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
  @Optional()
  @IsBoolean()
  required?: boolean;

  /** VRL that makes the link under which an installation is connected; `null` clears it. */
  @Nullable()
  @IsString()
  @MaxLength(2000)
  linkTemplateScript?: string | null;
}

export class ConfigurationDraft extends TagDefinition {
  @Optional()
  @JsonObject({ maxBytes: maxSchemaBytes })
  schema?: Record<string, unknown>;

  @Optional()
  @Nested(ConfigurationLink)
  identifier?: ConfigurationLink;
}

/** VRL that finds the installation behind a request to a shared address; `null` clears a script. */
export class InstallationScripts {
  @Nullable()
  @IsString()
  @MaxLength(2000)
  fallbackHandlerScript?: string | null;

  @Nullable()
  @IsString()
  @MaxLength(2000)
  extractScript?: string | null;
}

export class SandboxScripts {
  @Nullable()
  @IsString()
  @MaxLength(2000)
  identifierExtractScript?: string | null;

  @Nullable()
  @IsString()
  @MaxLength(2000)
  messageExtractScript?: string | null;
}

export class Creation {
  @IsBoolean()
  enabled!: boolean;

  @IsArray()
  @IsString({ each: true })
  requiredTags!: string[];
}

/** Of users and conversations, which an integration may let bots create. */
export class CreatableDraft extends TagDefinitionChanges {
  @Optional()
  @Nested(Creation)
  creation?: Creation;
}

export class ChannelDraft extends TagDefinition {
  @Optional()
  @MapOf(Schema, removable)
  messages?: Record<string, Schema | null>;

  @Optional()
  @Nested(CreatableDraft)
  conversation?: CreatableDraft;

  @Optional()
  @Nested(TagDefinitionChanges)
  message?: TagDefinitionChanges;
}

export class IntegrationState extends Schema {
  @IsIn(['conversation', 'user', 'integration'])
  type!: 'conversation' | 'user' | 'integration';
}

/** What the integration calls something that an interface declares. */
export class ImplementedName {
  @IsString()
  @MaxLength(200)
  name!: string;
}

export class ImplementationDraft {
  /** Version id of the interface. */
  @IsString()
  @MaxLength(36)
  id!: string;

  @Optional()
  @MapOf(ImplementedName, { key: definitionName })
  entities?: Record<string, ImplementedName>;

  @Optional()
  @MapOf(ImplementedName, { key: definitionName })
  actions?: Record<string, ImplementedName>;

  @Optional()
  @MapOf(ImplementedName, { key: definitionName })
  events?: Record<string, ImplementedName>;

  @Optional()
  @MapOf(ImplementedName, { key: definitionName })
  channels?: Record<string, ImplementedName>;
}

export class ExtraOperation {
  @IsBoolean()
  enabled!: boolean;
}

/** What may be said of an integration and of what it can do. Absent parts stay as they are, or are empty in a new one. */
export class IntegrationDefinitionDraft extends PublicationDraft {
  @Optional()
  @Nested(ConfigurationDraft)
  configuration?: ConfigurationDraft;

  @Optional()
  @MapOf(ConfigurationDraft, removable)
  configurations?: Record<string, ConfigurationDraft | null>;

  @Optional()
  @Nested(InstallationScripts)
  identifier?: InstallationScripts;

  @Optional()
  @Nested(SandboxScripts)
  sandbox?: SandboxScripts;

  /** A channel that is there is merged with what is given, down to its messages and tags. */
  @Optional()
  @MapOf(ChannelDraft, removable)
  channels?: Record<string, ChannelDraft | null>;

  @Optional()
  @MapOf(IntegrationState, removable)
  states?: Record<string, IntegrationState | null>;

  @Optional()
  @MapOf(EventChange, removable)
  events?: Record<string, EventChange | null>;

  @Optional()
  @MapOf(ActionChange, removable)
  actions?: Record<string, ActionChange | null>;

  @Optional()
  @MapOf(EntityDefinition, removable)
  entities?: Record<string, EntityDefinition | null>;

  @Optional()
  @Nested(CreatableDraft)
  user?: CreatableDraft;

  @Optional()
  @MapOf(ImplementationDraft, removable)
  interfaces?: Record<string, ImplementationDraft | null>;

  /** Operations beyond those that every integration is called with, such as `message_updated`. */
  @Optional()
  @MapOf(ExtraOperation, removable)
  extraOperations?: Record<string, ExtraOperation | null>;
}

/** A configuration with everything that answers show. */
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

/** What an integration can do, with every part present. */
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
