import { IsBoolean, IsIn, IsNumber, IsString, Max, MaxLength, Min } from 'class-validator';
import { IsCronExpression } from './cron';
import { JsonObject, MapOf, Nested, Nullable, Optional } from './fields';

/** Schemas and configurations, in bytes of JSON. */
export const maxSchemaBytes = 100 * 1024;
export const maxConfigurationBytes = 20 * 1024;

/** What anything in a definition may be called. */
export const definitionName = /^.{1,200}$/s;
/** For a map of changes, in which `null` removes what has the name. */
export const removable = { nullable: true, key: definitionName };
/** The most of each that a bot may have. */
export const definitionLimits = { tags: 50, states: 20, events: 20, recurringEvents: 50, actions: 1000 } as const;

export class TagDefinition {
  @Optional()
  @IsString()
  @MaxLength(64)
  title?: string;

  @Optional()
  @IsString()
  @MaxLength(256)
  description?: string;
}

export class TagDefinitions {
  @Optional()
  @MapOf(TagDefinition, { maxEntries: definitionLimits.tags, key: definitionName })
  tags?: Record<string, TagDefinition>;
}

/** `null` removes the tag of this name. */
export class TagDefinitionChanges {
  @Optional()
  @MapOf(TagDefinition, removable)
  tags?: Record<string, TagDefinition | null>;
}

export class StateDefinition {
  @IsIn(['conversation', 'user', 'bot'])
  type!: 'conversation' | 'user' | 'bot';

  @JsonObject({ maxBytes: maxSchemaBytes })
  schema!: Record<string, unknown>;

  /** Milliseconds without a touch after which a state of this name is gone. */
  @Optional()
  @IsNumber()
  @Min(1)
  @Max(2_592_000_000)
  expiry?: number;
}

class DescribedSchema extends TagDefinition {
  @JsonObject({ maxBytes: maxSchemaBytes })
  schema!: Record<string, unknown>;
}

export class EventDefinition extends DescribedSchema {
  @Optional()
  @MapOf(String, { maxLength: 200 })
  attributes?: Record<string, string>;
}

/** What an update replaces an event by. */
export class EventChange extends DescribedSchema {
  /** An attribute that is `null` is left out. */
  @Optional()
  @MapOf(String, { maxLength: 200, nullable: true })
  attributes?: Record<string, string | null>;
}

export class Schema {
  @JsonObject({ maxBytes: maxSchemaBytes })
  schema!: Record<string, unknown>;
}

class ActionSignature extends TagDefinition {
  @Optional()
  @IsBoolean()
  billable?: boolean;

  @Optional()
  @IsBoolean()
  cacheable?: boolean;

  @Nested(Schema)
  input!: Schema;

  @Nested(Schema)
  output!: Schema;
}

export class ActionDefinition extends ActionSignature {
  @Optional()
  @MapOf(String, { maxLength: 200 })
  attributes?: Record<string, string>;
}

/** What an update replaces an action by. */
export class ActionChange extends ActionSignature {
  /** An attribute that is `null` is left out. */
  @Optional()
  @MapOf(String, { maxLength: 200, nullable: true })
  attributes?: Record<string, string | null>;
}

/** A thing that interfaces and integrations speak of, such as the item that is listed. */
export class EntityDefinition extends TagDefinition {
  @JsonObject({ maxBytes: maxSchemaBytes })
  schema!: Record<string, unknown>;
}

export class Schedule {
  @IsCronExpression()
  @MaxLength(200)
  cron!: string;
}

export class RecurringEventDefinition {
  @Nested(Schedule)
  schedule!: Schedule;

  @IsString()
  @MaxLength(200)
  type!: string;

  @JsonObject()
  payload!: Record<string, unknown>;
}

export class Subscriptions {
  /** `null` subscribes to every event. */
  @Nullable()
  @JsonObject()
  events!: Record<string, object> | null;
}

export class SubscriptionChanges {
  /** `null` subscribes to every event; an entry that is `null` is left out. */
  @Nullable()
  @JsonObject()
  events!: Record<string, object | null> | null;
}

export class BotConfiguration {
  @Optional()
  @JsonObject({ maxBytes: maxConfigurationBytes })
  data?: Record<string, unknown>;

  @Optional()
  @JsonObject({ maxBytes: maxSchemaBytes })
  schema?: Record<string, unknown>;
}

export class Media {
  @IsString()
  @MaxLength(2000)
  url!: string;

  @IsString()
  @MaxLength(200)
  name!: string;
}
