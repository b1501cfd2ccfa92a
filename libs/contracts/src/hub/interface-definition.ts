import { IsBoolean, IsString, Length, MaxLength } from 'class-validator';
import {
  ActionDefinition,
  ActionChange,
  EntityDefinition,
  EventDefinition,
  EventChange,
  Schema,
  TagDefinition,
} from '../definition';
import { MapOf, Nested, Optional } from '../fields';

/** Names of actions, events and the like. */
const key = /^.{1,200}$/s;
/** In each of these maps `null` removes what has the name. */
const entries = { nullable: true, key };

export class InterfaceChannel extends TagDefinition {
  @MapOf(Schema, { maxEntries: 20 })
  messages!: Record<string, Schema>;
}

export class InterfaceChannelDraft extends TagDefinition {
  @Optional()
  @MapOf(Schema, entries)
  messages?: Record<string, Schema | null>;
}

/** How what implements an interface for an entity is called. */
export class NameTemplate {
  @IsString()
  @MaxLength(2000)
  script!: string;

  @IsString()
  @MaxLength(200)
  language!: string;
}

/** What an interface asks of those that implement it. A `$ref` in its schemas names one of its entities. */
export class InterfaceDefinition {
  @MapOf(EntityDefinition)
  entities!: Record<string, EntityDefinition>;

  @MapOf(EventDefinition, { maxEntries: 20 })
  events!: Record<string, EventDefinition>;

  @MapOf(ActionDefinition)
  actions!: Record<string, ActionDefinition>;

  @MapOf(InterfaceChannel, { maxEntries: 10 })
  channels!: Record<string, InterfaceChannel>;

  @Optional()
  @Nested(NameTemplate)
  nameTemplate?: NameTemplate;

  @MapOf(String)
  attributes!: Record<string, string>;
}

/** What may be said of an interface: what is absent stays, or is empty in a new one. */
export class InterfaceDraft {
  @Optional()
  @MapOf(EntityDefinition, entries)
  entities?: Record<string, EntityDefinition | null>;

  @Optional()
  @MapOf(EventChange, entries)
  events?: Record<string, EventChange | null>;

  @Optional()
  @MapOf(ActionChange, entries)
  actions?: Record<string, ActionChange | null>;

  /** The message types of a channel are merged with those that it has. */
  @Optional()
  @MapOf(InterfaceChannelDraft, entries)
  channels?: Record<string, InterfaceChannelDraft | null>;

  @Nested(NameTemplate, { nullable: true })
  nameTemplate?: NameTemplate | null;

  @Optional()
  @MapOf(String, { ...entries, maxLength: 200 })
  attributes?: Record<string, string | null>;

  @Optional()
  @IsString()
  @MaxLength(200)
  sdkVersion?: string;

  /** Base64 of an image of at most 100 KB; empty for none. */
  @Optional()
  @IsString()
  icon?: string;

  /** Base64 of at most 100 KB of Markdown; empty for none. */
  @Optional()
  @IsString()
  readme?: string;

  /** The name unless it is said. */
  @Optional()
  @IsString()
  @Length(1, 64)
  title?: string;

  @Optional()
  @IsString()
  @MaxLength(256)
  description?: string;

  /** Everybody may see and implement it. Takes the role of a manager. */
  @Optional()
  @IsBoolean()
  public?: boolean;
}
