import { ArrayMaxSize, IsArray, IsString, Length, MaxLength } from 'class-validator';
import { MapOf, Optional } from '../fields';
import { PageQuery } from '../paging';
import { QueryChoice, QueryMap, QueryTime } from '../query-fields';

/** Most tags of a chat object that the bot may set; each integration may set as many. */
export const maxTags = 50;
export const maxTagsInAll = 200;
export const maxTagLength = 500;
const name = /^.{1,200}$/s;
const tagEntries = { maxEntries: maxTags, maxLength: maxTagLength, key: name };
export const maxProperties = 100;
/** Bytes of JSON of all properties of one object together. */
export const maxPropertiesBytes = 32 * 1024;
const propertyEntries = { maxEntries: maxProperties, maxLength: 10_000, key: name };

export function Tags(): PropertyDecorator {
  return MapOf(String, tagEntries);
}

/** Tags of the bot and of its integrations. */
export function ShownTags(): PropertyDecorator {
  return MapOf(String, { ...tagEntries, maxEntries: maxTagsInAll });
}

/** `null` or an empty string removes the tag. */
export function TagChanges(): PropertyDecorator {
  return MapOf(String, { ...tagEntries, nullable: true });
}

export function Properties(): PropertyDecorator {
  return MapOf(String, propertyEntries);
}

/** `null` removes the property. */
export function PropertyChanges(): PropertyDecorator {
  return MapOf(String, { ...propertyEntries, nullable: true });
}

/** Id in a body. No id of the platform has another length. */
export function IsChatId(): PropertyDecorator {
  return all(
    IsString(),
    Length(28, 36, { message: '$property must be an id of 28 to 36 characters, as returned by the API' }),
  );
}

/** Names of the tags that identify an existing object; the others are ignored in the search. */
export function DiscriminatingTags(): PropertyDecorator {
  return all(Optional(), IsArray(), ArrayMaxSize(maxTags), IsString({ each: true }), MaxLength(500, { each: true }));
}

/** Pagination query with a filter on tags: each named tag must have exactly this value. */
export class TaggedPageQuery extends PageQuery {
  @QueryMap({ maxEntries: maxTags, maxLength: maxTagLength }) tags?: Record<string, string>;
}

const times = ['createdAt', 'updatedAt'] as const;
export type TimeField = (typeof times)[number];

export function QueryTimeField(): PropertyDecorator {
  return QueryChoice(times);
}

/** Pagination query for lists sorted by a time. `afterDate` and `beforeDate` are inclusive. */
export class SortedPageQuery extends TaggedPageQuery {
  @QueryTime() afterDate?: string;
  @QueryTime() beforeDate?: string;
  @QueryTimeField() sortField?: TimeField;
  @QueryChoice(['asc', 'desc']) sortDirection?: 'asc' | 'desc';
}

function all(...decorators: PropertyDecorator[]): PropertyDecorator {
  return (target, property) => decorators.forEach((decorate) => decorate(target, property));
}
