import { IsBoolean, IsIn, IsNumber, IsString, Max, MaxLength, Min } from 'class-validator';
import { IsCronExpression } from './cron';
import { JsonObject, MapOf, Nested, Nullable, Optional } from './fields';

/** Bytes of JSON. */
export const maxSchemaBytes = 100 * 1024;
export const maxConfigurationBytes = 20 * 1024;

/** Name of an entry in a definition. */
export const definitionName = /^.{1,200}$/s;
/** Map of changes, in which `null` removes an entry. */
export const removable = { nullable: true, key: definitionName };
/** Most entries of each kind in a bot. */
export const definitionLimits = { tags: 50, states: 20, events: 20, recurringEvents: 50, actions: 1000 } as const;

export class TagDefinition {
  @Optional() @IsString() @MaxLength(64) title?: string;
  @Optional() @IsString() @MaxLength(256) description?: string;
}

export class TagDefinitions {
  @Optional()
  @MapOf(TagDefinition, { maxEntries: definitionLimits.tags, key: definitionName })
  tags?: Record<string, TagDefinition>;
}

/** `null` removes a tag. */
export class TagDefinitionChanges {
  @Optional() @MapOf(TagDefinition, removable) tags?: Record<string, TagDefinition | null>;
}

export class StateDefinition {
  @IsIn(['conversation', 'user', 'bot']) type!: 'conversation' | 'user' | 'bot';
  @JsonObject({ maxBytes: maxSchemaBytes }) schema!: Record<string, unknown>;

  /** TTL in milliseconds since the last read or write. */
  @Optional() @IsNumber() @Min(1) @Max(2_592_000_000) expiry?: number;
}

class DescribedSchema extends TagDefinition {
  @JsonObject({ maxBytes: maxSchemaBytes }) schema!: Record<string, unknown>;
}

export class EventDefinition extends DescribedSchema {
  @Optional() @MapOf(String, { maxLength: 200 }) attributes?: Record<string, string>;
}

/** Replaces an event definition as a whole. */
export class EventChange extends DescribedSchema {
  /** An attribute with the value `null` is dropped. */
  @Optional() @MapOf(String, { maxLength: 200, nullable: true }) attributes?: Record<string, string | null>;
}

export class Schema {
  @JsonObject({ maxBytes: maxSchemaBytes }) schema!: Record<string, unknown>;
}

export class ActionSignature extends TagDefinition {
  @Optional() @IsBoolean() billable?: boolean;
  @Optional() @IsBoolean() cacheable?: boolean;
  @Nested(Schema) input!: Schema;
  @Nested(Schema) output!: Schema;
}

export class ActionDefinition extends ActionSignature {
  @Optional() @MapOf(String, { maxLength: 200 }) attributes?: Record<string, string>;
}

/** Replaces an action definition as a whole. */
export class ActionChange extends ActionSignature {
  /** An attribute with the value `null` is dropped. */
  @Optional() @MapOf(String, { maxLength: 200, nullable: true }) attributes?: Record<string, string | null>;
}

/** Data type that interfaces and integrations share, such as the item that an action lists. */
export class EntityDefinition extends TagDefinition {
  @JsonObject({ maxBytes: maxSchemaBytes }) schema!: Record<string, unknown>;
}

export class Schedule {
  @IsCronExpression() @MaxLength(200) cron!: string;
}

export class RecurringEventDefinition {
  @Nested(Schedule) schedule!: Schedule;
  @IsString() @MaxLength(200) type!: string;
  @JsonObject() payload!: Record<string, unknown>;
}

export class Subscriptions {
  /** `null` subscribes to every event. */
  @Nullable() @JsonObject() events!: Record<string, object> | null;
}

export class SubscriptionChanges {
  /** `null` subscribes to every event; an entry with the value `null` is dropped. */
  @Nullable() @JsonObject() events!: Record<string, object | null> | null;
}

export class BotConfiguration {
  @Optional() @JsonObject({ maxBytes: maxConfigurationBytes }) data?: Record<string, unknown>;
  @Optional() @JsonObject({ maxBytes: maxSchemaBytes }) schema?: Record<string, unknown>;
}

export class Media {
  @IsString() @MaxLength(2000) url!: string;
  @IsString() @MaxLength(200) name!: string;
}
