import { Type } from 'class-transformer';
import {
  getMetadataStorage,
  IsArray,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  validateSync,
  type ValidationError,
} from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import type { Class } from './operation';

type JsonType = Record<string, unknown>;

/** Lets only an absent field through; `null` is refused. */
export function Optional(): PropertyDecorator {
  return ValidateIf((object: object, value: unknown) => value !== undefined);
}

/** Lets an absent field and `null` through. */
export function Nullable(): PropertyDecorator {
  return all(
    ValidateIf((object: object, value: unknown) => value !== undefined && value !== null),
    jsonSchema({ nullable: true }),
  );
}

/** One object of this class. */
export function Nested(type: Class<object>): PropertyDecorator {
  return all(
    Type(() => type),
    converted((value) => toInstance(type, value)),
    ValidateNested({ message: '$property must be an object' }),
    isObject,
  );
}

/** An array of objects of this class. */
export function ListOf(type: Class<object>, { maxItems = 1000 } = {}): PropertyDecorator {
  return all(
    IsArray({ message: '$property must be an array of objects' }),
    Type(() => type),
    converted((value) =>
      Array.isArray(value) && value.length <= maxItems ? value.map((entry) => toInstance(type, entry)) : value,
    ),
    ValidateNested({ each: true, message: '$property must be an array of objects' }),
    // ValidateNested would take an array in the array for a list of its own.
    check('listOf', (value) => {
      if (!Array.isArray(value) || !value.every(isRecord)) return 'must be an array of objects';
      return value.length > maxItems ? `must have at most ${maxItems} entries` : undefined;
    }),
  );
}

export interface MapOptions {
  /** An entry may be `null`, which removes what has this name. */
  nullable?: boolean;
  maxEntries?: number;
  /** What a name must look like. */
  key?: RegExp;
  /** Longest string entry, in characters. */
  maxLength?: number;
}

const defaultMaxEntries = 1000;

/**
 * A record of strings or of objects of one class. Every entry is checked by itself; the result has no prototype,
 * so that an entry called `__proto__` is just a name.
 */
export function MapOf(type: StringConstructor | Class<object>, options: MapOptions = {}): PropertyDecorator {
  return all(
    converted((value) => toMap(value, type, options)),
    check('mapOf', (value) => mapProblem(value, type, options)),
    jsonSchema({ type: 'object', additionalProperties: mapEntrySchema(type, options) }),
  );
}

/** Any JSON object, kept as it came. */
export function JsonObject({ maxBytes = 128 * 1024 } = {}): PropertyDecorator {
  return all(
    check('jsonObject', (value) => {
      if (!isRecord(value)) return 'must be an object';
      return Buffer.byteLength(JSON.stringify(value)) > maxBytes
        ? `must be at most ${maxBytes} bytes of JSON`
        : undefined;
    }),
    jsonSchema({ type: 'object', additionalProperties: true }),
  );
}

/** Where a field that is not part of the body comes from, and how its text is read. */
export interface FieldSource {
  in: 'path' | 'query';
  name: string;
  schema: JsonType;
  required: boolean;
  /** The value, or undefined when the parameter is absent. Throws FieldProblem. */
  read(query: RawQuery): unknown;
}

export type RawQuery = Record<string, string | string[] | undefined>;

/** A path or query value that cannot be used; the message starts with the field's name. */
export class FieldProblem extends Error {
  override readonly name = 'FieldProblem';
}

const sources = new Map<unknown, FieldSource[]>();

/** The path and query fields of an input class, those of its parents first. */
export function fieldSources(type: unknown): FieldSource[] {
  if (typeof type !== 'function') return [];
  return [...fieldSources(Object.getPrototypeOf(type)), ...(sources.get(type) ?? [])];
}

/** Filled from the route's `{name}`, decoded. */
export function PathParam({ maxLength = 1000 } = {}): PropertyDecorator {
  return source('path', { type: 'string', maxLength }, true, (text, name) => {
    if (typeof text !== 'string' || text === '') throw new FieldProblem(`${name} must not be empty`);
    if (text.length > maxLength) throw new FieldProblem(`${name} must be at most ${maxLength} characters`);
    return text;
  });
}

export function QueryString({ maxLength = 1000, required = false } = {}): PropertyDecorator {
  return source('query', { type: 'string', maxLength }, required, (text, name) => {
    const value = single(text, name);
    if (value.length > maxLength) throw new FieldProblem(`${name} must be at most ${maxLength} characters`);
    return value;
  });
}

export function QueryChoice(choices: readonly string[]): PropertyDecorator {
  return source('query', { type: 'string', enum: choices }, false, (text, name) => {
    const value = single(text, name);
    if (!choices.includes(value)) throw new FieldProblem(`${name} must be one of: ${choices.join(', ')}`);
    return value;
  });
}

export function QueryInteger({ min, max }: { min: number; max: number }): PropertyDecorator {
  return source('query', { type: 'integer', minimum: min, maximum: max }, false, (text, name) => {
    const value = single(text, name);
    const number = /^-?\d{1,15}$/.test(value) ? Number(value) : NaN;
    if (!(number >= min && number <= max)) throw new FieldProblem(`${name} must be an integer from ${min} to ${max}`);
    return number;
  });
}

/** `true` or `false`, and nothing else. */
export function QueryBoolean(): PropertyDecorator {
  return source('query', { type: 'boolean' }, false, (text, name) => {
    const value = single(text, name);
    if (value !== 'true' && value !== 'false') throw new FieldProblem(`${name} must be true or false`);
    return value === 'true';
  });
}

/** A parameter that may be repeated. */
export function QueryList({ maxItems = 100, maxLength = 1000 } = {}): PropertyDecorator {
  return source('query', { type: 'array', items: { type: 'string', maxLength }, maxItems }, false, (text, name) => {
    const values = typeof text === 'string' ? [text] : text;
    if (values.length > maxItems) throw new FieldProblem(`${name} must have at most ${maxItems} entries`);
    if (values.some((value) => value.length > maxLength)) {
      throw new FieldProblem(`each ${name} must be at most ${maxLength} characters`);
    }
    return values;
  });
}

/** For each tag: one of `in`, and none of `notIn`. Without a prototype, so that any name is just a name. */
export type TagQuery = Record<string, { in: string[]; notIn: string[] }>;

/**
 * A filter on tags, in both forms that clients send: `tags.color=red&tags.color=blue&tags.kind.not=draft`, or one
 * JSON object `tags={"color":["red","blue"],"kind":{"not":"draft"}}`.
 */
export function QueryTags({ maxBytes = 2048 } = {}): PropertyDecorator {
  const schema = { type: 'object', additionalProperties: true, description: 'Tag values; `tags.name.not` excludes.' };
  return (target, property) => {
    const name = String(property);
    register(target, { in: 'query', name, schema, required: false, read: (query) => readTags(query, name, maxBytes) });
  };
}

function readTags(query: RawQuery, name: string, maxBytes: number): TagQuery | undefined {
  const filter: TagQuery = Object.create(null) as TagQuery;
  let bytes = 0;
  const add = (tag: string, side: 'in' | 'notIn', values: unknown) => {
    const list = [values].flat();
    if (tag === '' || list.length === 0 || list.some((value) => typeof value !== 'string')) {
      throw new FieldProblem(`${name} must give each tag a string, a list of strings, or {"not": …}`);
    }
    refuseNul([tag, ...(list as string[])], name);
    bytes += Buffer.byteLength(tag) + (list as string[]).reduce((sum, value) => sum + Buffer.byteLength(value), 0);
    if (bytes > maxBytes) throw new FieldProblem(`${name} must be at most ${maxBytes} bytes`);
    (filter[tag] ??= { in: [], notIn: [] })[side].push(...(list as string[]));
  };

  const json = query[name];
  if (json !== undefined) {
    for (const [tag, value] of Object.entries(parseObject(single(json, name), name))) {
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

function parseObject(text: string, name: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FieldProblem(`${name} must be a JSON object, or be given as ${name}.<tag>=<value>`);
  }
  if (!isRecord(value)) throw new FieldProblem(`${name} must be a JSON object`);
  return value;
}

/** Postgres can keep no U+0000: what holds one names nothing that is there. */
function refuseNul(text: string | string[], name: string): void {
  if ([text].flat().some((value) => value.includes('\0')))
    throw new FieldProblem(`${name} must not contain the character U+0000`);
}

function single(text: string | string[], name: string): string {
  if (typeof text !== 'string') throw new FieldProblem(`${name} must be given once`);
  return text;
}

function source(
  where: 'path' | 'query',
  schema: JsonType,
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
    register(target, { in: where, name, schema, required, read });
  };
}

function register(target: object, field: FieldSource): void {
  const own = sources.get(target.constructor) ?? [];
  sources.set(target.constructor, [...own, field]);
}

/** Every problem of an input as one sentence each; empty when it is as its class declares. */
export function problemsOf(input: object): string[] {
  return describeProblems(validateSync(input, { forbidUnknownValues: false }));
}

/**
 * What came in as an instance of its class, without the fields that the class does not declare. Anything but an
 * object stays as it is, for the validation to refuse.
 */
export function toInstance(type: Class<object>, plain: unknown): unknown {
  if (!isRecord(plain)) return plain;
  const instance = new type() as Record<string, unknown>;
  for (const [name, convert] of conversionsOf(type)) {
    if (Object.hasOwn(plain, name)) instance[name] = convert(plain[name]);
  }
  return instance;
}

type Convert = (value: unknown) => unknown;
const keep: Convert = (value) => value;
const conversions = new Map<unknown, Map<string, Convert>>();
const declared = new WeakMap<Class<object>, Map<string, Convert>>();

/** The body's fields of a class, those of its parents too, each with how its value is read. */
function conversionsOf(type: Class<object>): Map<string, Convert> {
  const known = declared.get(type);
  if (known) return known;
  const fields = new Map<string, Convert>();
  for (const { propertyName } of getMetadataStorage().getTargetValidationMetadatas(type, '', false, false)) {
    fields.set(propertyName, conversionOf(type, propertyName));
  }
  declared.set(type, fields);
  return fields;
}

function conversionOf(type: unknown, name: string): Convert {
  if (typeof type !== 'function') return keep;
  return conversions.get(type)?.get(name) ?? conversionOf(Object.getPrototypeOf(type), name);
}

function converted(convert: Convert): PropertyDecorator {
  return (target, property) => {
    const own = conversions.get(target.constructor) ?? new Map<string, Convert>();
    conversions.set(target.constructor, own.set(String(property), convert));
  };
}

/** Every complaint as one sentence each, with the path of the field: `indexing.stack must be …`. */
function describeProblems(errors: ValidationError[], parent = ''): string[] {
  return errors.flatMap((error) => {
    const path = parent ? `${parent}.${error.property}` : error.property;
    const own = new Set(Object.values(error.constraints ?? {}).map((text) => withPath(text, error.property, path)));
    // What is inside of something that has the wrong shape as a whole is not worth a word.
    return own.size > 0 ? [...own] : describeProblems(error.children ?? [], path);
  });
}

/** Messages name their field once, as a word of its own; the rest of the text may hold the same letters. */
function withPath(text: string, field: string, path: string): string {
  const words = text.split(' ');
  const index = words.indexOf(field);
  return index < 0 ? `${path}: ${text}` : words.with(index, path).join(' ');
}

function toMap(
  value: unknown,
  type: StringConstructor | Class<object>,
  { maxEntries = defaultMaxEntries }: MapOptions,
): unknown {
  if (!isRecord(value) || Object.keys(value).length > maxEntries) return value;
  const map = Object.create(null) as Record<string, unknown>;
  for (const [name, entry] of Object.entries(value)) {
    map[name] = type === String ? entry : toInstance(type as Class<object>, entry);
  }
  return map;
}

function mapProblem(
  value: unknown,
  type: StringConstructor | Class<object>,
  { nullable, maxEntries = defaultMaxEntries, key, maxLength }: MapOptions,
): string | undefined {
  if (!isRecord(value)) return 'must be an object';
  const entries = Object.entries(value);
  if (entries.length > maxEntries) return `must have at most ${maxEntries} entries`;
  for (const [name, entry] of entries) {
    if (key && !key.test(name)) return `has a name "${shorten(name)}" that does not match ${key.source}`;
    if (entry === null && nullable) continue;
    const problem = type === String ? textProblem(entry, maxLength) : objectProblem(entry);
    if (problem) return `has an entry "${shorten(name)}" ${problem}`;
  }
  return undefined;
}

function textProblem(entry: unknown, maxLength: number | undefined): string | undefined {
  if (typeof entry !== 'string') return 'that must be a string';
  if (maxLength !== undefined && entry.length > maxLength) return `that must be at most ${maxLength} characters`;
  return undefined;
}

function objectProblem(entry: unknown): string | undefined {
  if (!isRecord(entry)) return 'that must be an object';
  const [problem] = problemsOf(entry);
  return problem && `whose ${problem}`;
}

/** A name that came from outside, as messages show it. */
function shorten(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name;
}

function mapEntrySchema(type: StringConstructor | Class<object>, { nullable, maxLength }: MapOptions): JsonType {
  if (type === String)
    return { type: 'string', ...(maxLength ? { maxLength } : {}), ...(nullable ? { nullable } : {}) };
  const reference = { $ref: `#/components/schemas/${type.name}` };
  // OpenAPI 3.0 reads nothing that stands beside a reference.
  return nullable ? { type: 'object', nullable, allOf: [reference] } : reference;
}

const isObject = check('isObject', (value) => (isRecord(value) ? undefined : 'must be an object'));

function check(name: string, problem: (value: unknown) => string | undefined): PropertyDecorator {
  return ValidateBy({
    name,
    validator: {
      validate: (value) => problem(value) === undefined,
      defaultMessage: (args) => `${args?.property ?? ''} ${problem(args?.value) ?? 'is not valid'}`,
    },
  });
}

const documented = new Map<object, Record<PropertyKey, JsonType>>();

/** Adds to what the documentation says of a field. The library's own decorator would replace what another one said. */
function jsonSchema(schema: JsonType): PropertyDecorator {
  return (target, property) => {
    const fields = documented.get(target) ?? {};
    fields[property] = { ...fields[property], ...schema };
    documented.set(target, fields);
    (JSONSchema(fields[property]) as PropertyDecorator)(target, property);
  };
}

function all(...decorators: PropertyDecorator[]): PropertyDecorator {
  return (target, property) => decorators.forEach((decorate) => decorate(target, property));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
