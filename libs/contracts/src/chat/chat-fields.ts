import { ArrayMaxSize, IsArray, IsString, Length, MaxLength } from 'class-validator';
import { MapOf, Optional } from '../fields';
import { PageQuery } from '../paging';
import { QueryChoice, QueryMap, QueryTime } from '../query-fields';

/** What an object of the chat may have of tags: of the bot, and of each integration. */
export const maxTags = 50;
export const maxTagsInAll = 200;
export const maxTagLength = 500;
const name = /^.{1,200}$/s;
const tagEntries = { maxEntries: maxTags, maxLength: maxTagLength, key: name };
export const maxProperties = 100;
/** Of all properties of one object, as JSON. */
export const maxPropertiesBytes = 32 * 1024;
const propertyEntries = { maxEntries: maxProperties, maxLength: 10_000, key: name };

export function Tags(): PropertyDecorator {
  return MapOf(String, tagEntries);
}

/** Those of the bot and of its integrations together. */
export function ShownTags(): PropertyDecorator {
  return MapOf(String, { ...tagEntries, maxEntries: maxTagsInAll });
}

/** `null`, like an empty text, removes the tag of this name. */
export function TagChanges(): PropertyDecorator {
  return MapOf(String, { ...tagEntries, nullable: true });
}

export function Properties(): PropertyDecorator {
  return MapOf(String, propertyEntries);
}

/** `null` removes the property of this name. */
export function PropertyChanges(): PropertyDecorator {
  return MapOf(String, { ...propertyEntries, nullable: true });
}

/** An id in a body. Whatever has another length can name nothing. */
export function IsChatId(): PropertyDecorator {
  return all(
    IsString(),
    Length(28, 36, { message: '$property must be an id of 28 to 36 characters, as the platform gives it' }),
  );
}

/** Names of the tags that tell whether something is there already. */
export function DiscriminatingTags(): PropertyDecorator {
  return all(Optional(), IsArray(), ArrayMaxSize(maxTags), IsString({ each: true }), MaxLength(500, { each: true }));
}

/** Query of lists that can be filtered by tags: each must have exactly this value. */
export class TaggedPageQuery extends PageQuery {
  @QueryMap({ maxEntries: maxTags, maxLength: maxTagLength })
  tags?: Record<string, string>;
}

const times = ['createdAt', 'updatedAt'] as const;
export type TimeField = (typeof times)[number];

export function QueryTimeField(): PropertyDecorator {
  return QueryChoice(times);
}

/** Query of lists that are sorted by a time. Both ends of the span belong to it. */
export class SortedPageQuery extends TaggedPageQuery {
  @QueryTime()
  afterDate?: string;

  @QueryTime()
  beforeDate?: string;

  @QueryTimeField()
  sortField?: TimeField;

  @QueryChoice(['asc', 'desc'])
  sortDirection?: 'asc' | 'desc';
}

function all(...decorators: PropertyDecorator[]): PropertyDecorator {
  return (target, property) => decorators.forEach((decorate) => decorate(target, property));
}
