import { isRecord } from './is-record';
import type { JsonSchema } from './json-schema';

/** Source of a field outside of the body, and the parser of its text. */
export interface FieldSource {
  in: 'path' | 'query' | 'header';
  name: string;
  /** Public name: that of the field, except for headers. */
  parameter: string;
  schema: JsonSchema;
  required: boolean;
  /** Parses the value; undefined when the parameter is absent. Throws FieldProblem. Header names are in lower case. */
  read(query: RawQuery): unknown;
}

export type RawQuery = Record<string, string | string[] | undefined>;

/** Invalid path, query or header value. The message names the field. */
export class FieldProblem extends Error {
  override readonly name = 'FieldProblem';
}

const sources = new Map<unknown, FieldSource[]>();

/** Path, query and header fields of an input class, those of its parents first. */
export function fieldSources(type: unknown): FieldSource[] {
  if (typeof type !== 'function') return [];
  return [...fieldSources(Object.getPrototypeOf(type)), ...(sources.get(type) ?? [])];
}

/** Path parameter of the route's `{name}`, decoded. */
export function PathParam({ maxLength = 1000 } = {}): PropertyDecorator {
  return source('path', { type: 'string', maxLength }, true, (text, name) => {
    if (typeof text !== 'string' || text === '') throw new FieldProblem(`${name} must not be empty`);
    if (text.length > maxLength) throw new FieldProblem(`${name} must be at most ${maxLength} characters`);
    return text;
  });
}

export function PathChoice(choices: readonly string[]): PropertyDecorator {
  return source('path', { type: 'string', enum: choices }, true, oneOf(choices));
}

export function QueryString({ maxLength = 1000, required = false } = {}): PropertyDecorator {
  return source('query', { type: 'string', maxLength }, required, (text, name) => {
    const value = single(text, name);
    if (value.length > maxLength) throw new FieldProblem(`${name} must be at most ${maxLength} characters`);
    return value;
  });
}

export function QueryChoice(choices: readonly string[], { required = false } = {}): PropertyDecorator {
  return source('query', { type: 'string', enum: choices }, required, oneOf(choices));
}

export function QueryInteger(options: { min: number; max: number; required?: boolean }): PropertyDecorator {
  const { min, max, required = false } = options;
  return source('query', { type: 'integer', minimum: min, maximum: max }, required, (text, name) => {
    const value = single(text, name);
    const number = /^-?\d{1,15}$/.test(value) ? Number(value) : NaN;
    if (!(number >= min && number <= max)) throw new FieldProblem(`${name} must be an integer from ${min} to ${max}`);
    return number;
  });
}

/** Number from 0 to 1, such as `0.35`. */
export function QueryShare(): PropertyDecorator {
  return source('query', { type: 'number', minimum: 0, maximum: 1 }, false, (text, name) => {
    const value = single(text, name);
    const number = /^\d{0,2}(\.\d{1,15})?$/.test(value) ? Number(value) : NaN;
    if (!(number >= 0 && number <= 1)) throw new FieldProblem(`${name} must be a number from 0 to 1`);
    return number;
  });
}

/** Exactly `true` or `false`. */
export function QueryBoolean(): PropertyDecorator {
  return source('query', { type: 'boolean' }, false, (text, name) => {
    const value = single(text, name);
    if (value !== 'true' && value !== 'false') throw new FieldProblem(`${name} must be true or false`);
    return value === 'true';
  });
}

/** True if the header is `true`, otherwise false. */
export function HeaderFlag(header: string): PropertyDecorator {
  return (target, property) => {
    register(target, {
      in: 'header',
      name: String(property),
      parameter: header,
      schema: { type: 'string', enum: ['true', 'false'] },
      required: false,
      read: (headers) => headers[header] === 'true',
    });
  };
}

/** Text of the header; absent if empty. */
export function HeaderText(header: string, { maxLength = 200 } = {}): PropertyDecorator {
  return (target, property) => {
    register(target, {
      in: 'header',
      name: String(property),
      parameter: header,
      schema: { type: 'string', maxLength },
      required: false,
      read: (headers) => {
        const text = headers[header];
        if (text === undefined || text === '') return undefined;
        if (typeof text !== 'string' || text.length > maxLength)
          throw new FieldProblem(`${header} must be a single value of at most ${maxLength} characters`);
        return text;
      },
    });
  };
}

/** String of the given form; `right` describes it in the message: "a month such as 2026-01". */
export function QueryForm(form: RegExp, right: string): PropertyDecorator {
  return source('query', { type: 'string', pattern: form.source }, false, (text, name) => {
    const value = single(text, name);
    if (!form.test(value)) throw new FieldProblem(`${name} must be ${right}`);
    return value;
  });
}

const isoTime = /^[1-9]\d{3}-\d\d-\d\d(T\S+)?$/;

/** ISO 8601 time, converted to UTC with milliseconds. */
export function QueryTime({ required = false } = {}): PropertyDecorator {
  return source('query', { type: 'string', format: 'date-time' }, required, (text, name) => {
    const value = single(text, name);
    const time = new Date(isoTime.test(value) ? value : NaN);
    const utc = Number.isNaN(time.getTime()) ? '' : time.toISOString();
    // The zone offset may shift a time into a year of more than four digits.
    if (!/^\d{4}-/.test(utc)) throw new FieldProblem(`${name} must be a time such as 2026-01-31T12:00:00Z`);
    return utc;
  });
}

interface ListOptions {
  maxItems?: number;
  maxLength?: number;
  required?: boolean;
  /** Accepted values; any when absent. */
  choices?: readonly string[];
}

export function QueryList({ maxItems = 100, maxLength = 1000, required = false, choices }: ListOptions = {}) {
  const items = { type: 'string', maxLength, ...(choices ? { enum: choices } : {}) };
  return source('query', { type: 'array', items, maxItems }, required, (text, name) => {
    const values = typeof text === 'string' ? [text] : text;
    if (values.length > maxItems) throw new FieldProblem(`${name} must have at most ${maxItems} entries`);
    if (choices && !values.every((value) => choices.includes(value))) {
      throw new FieldProblem(`each ${name} must be one of: ${choices.join(', ')}`);
    }
    if (values.some((value) => value.length > maxLength)) {
      throw new FieldProblem(`each ${name} must be at most ${maxLength} characters`);
    }
    return values;
  });
}

/**
 * Tag filter: a tag has one of the values `in` and none of `notIn`; an empty list has no effect. The parsed record has
 * no prototype, so that any tag name is an ordinary key.
 */
export type TagQuery = Record<string, { in: string[]; notIn: string[] }>;

/**
 * Tag filter in either form that clients send: `tags.color=red&tags.color=blue&tags.kind.not=draft`, or one JSON object
 * `tags={"color":["red","blue"],"kind":{"not":"draft"}}`.
 */
export function QueryTags({ maxBytes = 2048 } = {}): PropertyDecorator {
  const schema = {
    type: 'object',
    additionalProperties: true,
    description:
      'Filter on tags: `tags.name=value`, repeated for alternatives. `tags.name.not=value` excludes a value.',
  };
  return (target, property) => {
    const name = String(property);
    const read = (query: RawQuery) => readTags(query, name, maxBytes);
    register(target, { in: 'query', name, parameter: name, schema, required: false, read });
  };
}

/**
 * Map of strings in either form that clients send: `interfaces.a=x&interfaces.b=y`, or one JSON object
 * `interfaces={"a":"x","b":"y"}`. The parsed record has no prototype, so that any name is an ordinary key.
 */
export function QueryMap({ maxEntries = 100, maxLength = 1000 } = {}): PropertyDecorator {
  const schema = { type: 'object', additionalProperties: { type: 'string', maxLength }, maxProperties: maxEntries };
  return (target, property) => {
    const name = String(property);
    const read = (query: RawQuery) => readMap(query, name, { maxEntries, maxLength });
    register(target, { in: 'query', name, parameter: name, schema, required: false, read });
  };
}

function readMap(query: RawQuery, name: string, { maxEntries, maxLength }: { maxEntries: number; maxLength: number }) {
  const map = Object.create(null) as Record<string, string>;
  const add = (key: string, value: unknown) => {
    if (key === '' || typeof value !== 'string' || key in map)
      throw new FieldProblem(`${name} must map each name to exactly one string`);
    refuseNul([key, value], name);
    if (Math.max(key.length, value.length) > maxLength)
      throw new FieldProblem(`${name} must have names and values of at most ${maxLength} characters`);
    map[key] = value;
  };

  const json = query[name];
  if (json !== undefined) {
    for (const [key, value] of Object.entries(parseObject(single(json, name), name, 'name'))) add(key, value);
  }
  for (const [parameter, value] of Object.entries(query)) {
    if (parameter.startsWith(`${name}.`)) add(parameter.slice(name.length + 1), value);
  }
  const { length } = Object.keys(map);
  if (length > maxEntries) throw new FieldProblem(`${name} must have at most ${maxEntries} entries`);
  return length > 0 ? map : undefined;
}

function readTags(query: RawQuery, name: string, maxBytes: number): TagQuery | undefined {
  const filter: TagQuery = Object.create(null) as TagQuery;
  let bytes = 0;
  const add = (tag: string, side: 'in' | 'notIn', values: unknown) => {
    const list = [values].flat();
    if (tag === '' || list.length === 0 || list.some((value) => typeof value !== 'string')) {
      throw new FieldProblem(`${name} must map each tag to a string, a list of strings, or {"not": …}`);
    }
    refuseNul([tag, ...(list as string[])], name);
    bytes += Buffer.byteLength(tag) + (list as string[]).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
    if (bytes > maxBytes) throw new FieldProblem(`${name} must be at most ${maxBytes} bytes`);
    (filter[tag] ??= { in: [], notIn: [] })[side].push(...(list as string[]));
  };

  const json = query[name];
  if (json !== undefined) {
    for (const [tag, value] of Object.entries(parseObject(single(json, name), name, 'tag'))) {
      if (isRecord(value)) add(tag, 'notIn', value['not']);
      else add(tag, 'in', value);
    }
  }
  for (const [parameter, value] of Object.entries(query)) {
    if (!parameter.startsWith(`${name}.`)) continue;
    const tag = parameter.slice(name.length + 1);
    if (tag.endsWith('.not')) add(tag.slice(0, -'.not'.length), 'notIn', value);
    else add(tag, 'in', value);
  }
  return Object.keys(filter).length > 0 ? filter : undefined;
}

function parseObject(text: string, name: string, part: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FieldProblem(`${name} must be a JSON object, or be given as ${name}.<${part}>=<value>`);
  }
  if (!isRecord(value)) throw new FieldProblem(`${name} must be a JSON object`);
  return value;
}

/** Postgres cannot store U+0000, so that no stored id or name contains it. */
function refuseNul(text: string | string[], name: string): void {
  if ([text].flat().some((value) => value.includes('\0')))
    throw new FieldProblem(`${name} must not contain the character U+0000`);
}

function single(text: string | string[], name: string): string {
  if (typeof text !== 'string') throw new FieldProblem(`${name} must not be repeated`);
  return text;
}

function oneOf(choices: readonly string[]) {
  return (text: string | string[], name: string) => {
    const value = single(text, name);
    if (!choices.includes(value)) throw new FieldProblem(`${name} must be one of: ${choices.join(', ')}`);
    return value;
  };
}

function source(
  where: 'path' | 'query',
  schema: JsonSchema,
  required: boolean,
  parse: (text: string | string[], name: string) => unknown,
): PropertyDecorator {
  return (target, property) => {
    const name = String(property);
    const read = (query: RawQuery) => {
      const text = query[name];
      if (text !== undefined) {
        refuseNul(text, name);
        return parse(text, name);
      }
      if (required) throw new FieldProblem(`${name} is missing`);
      return undefined;
    };
    register(target, { in: where, name, parameter: name, schema, required, read });
  };
}

function register(target: object, field: FieldSource): void {
  const own = sources.get(target.constructor) ?? [];
  sources.set(target.constructor, [...own, field]);
}
