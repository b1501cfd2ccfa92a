import { IsString, MaxLength } from 'class-validator';
import {
  ActionChange,
  ActionDefinition,
  EntityDefinition,
  EventChange,
  EventDefinition,
  removable,
  Schema,
  TagDefinition,
} from '../definition';
import { MapOf, Nested, Optional } from '../fields';
import { PublicationDraft } from './publication';

export class InterfaceChannel extends TagDefinition {
  @MapOf(Schema, { maxEntries: 20 }) messages!: Record<string, Schema>;
}

export class InterfaceChannelDraft extends TagDefinition {
  @Optional() @MapOf(Schema, removable) messages?: Record<string, Schema | null>;
}

/** Template for the name of an interface implementation for an entity. */
export class NameTemplate {
  @IsString() @MaxLength(2000) script!: string;
  @IsString() @MaxLength(200) language!: string;
}

/** Definition of an interface. A `$ref` in its schemas refers to one of its entities. */
export class InterfaceDefinition {
  @MapOf(EntityDefinition) entities!: Record<string, EntityDefinition>;
  @MapOf(EventDefinition, { maxEntries: 20 }) events!: Record<string, EventDefinition>;
  @MapOf(ActionDefinition) actions!: Record<string, ActionDefinition>;
  @MapOf(InterfaceChannel, { maxEntries: 10 }) channels!: Record<string, InterfaceChannel>;
  @Optional() @Nested(NameTemplate) nameTemplate?: NameTemplate;
  @MapOf(String) attributes!: Record<string, string>;
}

/** Interface to create or update. Absent fields stay unchanged, or are empty in a new interface. */
export class InterfaceDraft extends PublicationDraft {
  @Optional() @MapOf(EntityDefinition, removable) entities?: Record<string, EntityDefinition | null>;
  @Optional() @MapOf(EventChange, removable) events?: Record<string, EventChange | null>;
  @Optional() @MapOf(ActionChange, removable) actions?: Record<string, ActionChange | null>;

  /** Message types are merged into those of an existing channel. */
  @Optional() @MapOf(InterfaceChannelDraft, removable) channels?: Record<string, InterfaceChannelDraft | null>;

  @Nested(NameTemplate, { nullable: true }) nameTemplate?: NameTemplate | null;
  @Optional() @MapOf(String, { ...removable, maxLength: 200 }) attributes?: Record<string, string | null>;
}
