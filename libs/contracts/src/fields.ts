import { Type } from 'class-transformer';
import {
  getMetadataStorage,
  IsArray,
  ValidateBy,
  ValidateIf,
  ValidateNested,
  validateSync,
  type ValidationArguments,
  type ValidationError,
} from 'class-validator';
import { JSONSchema } from 'class-validator-jsonschema';
import { isRecord } from './is-record';
import type { JsonSchema } from './json-schema';
import type { Class } from './operation';

/** Optional field: may be absent; `null` is rejected. */
export function Optional(): PropertyDecorator {
  return ValidateIf((object: object, value: unknown) => value !== undefined);
}

/** Optional, nullable field: may be absent or `null`. */
export function Nullable(): PropertyDecorator {
  return all(
    ValidateIf((object: object, value: unknown) => value !== undefined && value !== null),
    jsonSchema({ nullable: true }),
  );
}

/** Required, nullable field: may be `null`, but not absent. */
export function OrNull(): PropertyDecorator {
  return all(
    ValidateIf((object: object, value: unknown) => value !== null),
    jsonSchema({ nullable: true }),
  );
}

/** One object of this class; may be `null` if `nullable`. */
export function Nested(type: Class<object>, { nullable = false } = {}): PropertyDecorator {
  return all(
    ...(nullable ? [Nullable(), jsonSchema({ ...nullableReference(type), $ref: undefined })] : []),
    Type(() => type),
    converted((value) => toInstance(type, value)),
    ValidateNested({ message: '$property must be an object' }),
    check('isObject', (value) => (isRecord(value) ? undefined : 'must be an object'), { type }),
  );
}

/** Array of objects of this class, at most 1000 by default. */
export function ListOf(type: Class<object>, options: { maxItems?: number } = {}): PropertyDecorator {
  const { maxItems = 1000 } = options;
  return all(
    IsArray({ message: '$property must be an array of objects' }),
    Type(() => type),
    converted((value) => {
      if (!Array.isArray(value)) return value;
      if (value.length <= maxItems) return value.map((entry) => toInstance(type, entry));
      // Too long: class-validator must not see the entries, whose `constructor` it would trust.
      return value.map((entry: unknown) => (isRecord(entry) ? {} : entry));
    }),
    ValidateNested({ each: true, message: '$property must be an array of objects' }),
    // ValidateNested alone would accept an array within the array as a nested list.
    check(
      'listOf',
      (value) => {
        if (!Array.isArray(value) || !value.every(isRecord)) return 'must be an array of objects';
        return value.length > maxItems ? `must have at most ${maxItems} entries` : undefined;
      },
      { type, maxItems },
    ),
    jsonSchema(options),
  );
}

export interface MapOptions {
  /** An entry may be `null`, which removes it. */
  nullable?: boolean;
  maxEntries?: number;
  key?: RegExp;
  /** Longest string entry, in characters. */
  maxLength?: number;
}

const defaultMaxEntries = 1000;

type EntryType = StringConstructor | BooleanConstructor | Class<object>;

/**
 * Record of strings, of booleans or of objects of one class, with each entry validated. The result has no prototype, so
 * that `__proto__` is an ordinary key.
 */
export function MapOf(type: EntryType, options: MapOptions = {}): PropertyDecorator {
  return all(
    converted((value) => toMap(value, type, options)),
    check('mapOf', (value) => mapProblem(value, type, options), { type, maxEntries: defaultMaxEntries, ...options }),
    jsonSchema({ type: 'object', additionalProperties: mapEntrySchema(type, options) }),
  );
}

/** Any JSON object, kept unchanged. */
export function JsonObject({ maxBytes = 128 * 1024 } = {}): PropertyDecorator {
  return all(
    check(
      'jsonObject',
      (value) => {
        if (!isRecord(value)) return 'must be an object';
        return Buffer.byteLength(JSON.stringify(value)) > maxBytes
          ? `must be at most ${maxBytes} bytes of JSON`
          : undefined;
      },
      { maxBytes },
    ),
    jsonSchema({ type: 'object', additionalProperties: true }),
  );
}

/** Array of JSON objects, kept unchanged; the service validates them. */
export function JsonObjects(options: { minItems: number; maxItems: number }): PropertyDecorator {
  const { minItems, maxItems } = options;
  return all(
    check(
      'jsonObjects',
      (value) => {
        if (!Array.isArray(value) || !value.every(isRecord)) return 'must be an array of objects';
        return value.length < minItems || value.length > maxItems
          ? `must have ${minItems} to ${maxItems} entries`
          : undefined;
      },
      options,
    ),
    jsonSchema({ type: 'array', items: { type: 'object', additionalProperties: true }, ...options }),
  );
}

/** Any JSON value, kept unchanged. */
export function JsonValue({ maxBytes = 128 * 1024 } = {}): PropertyDecorator {
  return all(
    check(
      'jsonValue',
      (value) =>
        Buffer.byteLength(JSON.stringify(value) ?? '') > maxBytes
          ? `must be at most ${maxBytes} bytes of JSON`
          : undefined,
      { maxBytes },
    ),
    jsonSchema({ description: 'Any JSON value.' }),
  );
}

/** Field with rules of its own. A problem begins with "must", or with a path: ".items[1].text must …". */
export function Checked(rules: {
  convert: (value: unknown) => unknown;
  problem: (value: unknown) => string | undefined;
  schema: JsonSchema;
}): PropertyDecorator {
  return all(converted(rules.convert), check('checked', rules.problem), jsonSchema(rules.schema));
}

export function MaxBytes(maxBytes: number): PropertyDecorator {
  return all(
    check(
      'maxBytes',
      (value) =>
        typeof value === 'string' && Buffer.byteLength(value) > maxBytes
          ? `must be at most ${maxBytes} bytes`
          : undefined,
      { maxBytes },
    ),
    jsonSchema({ description: `At most ${maxBytes} bytes of UTF-8.` }),
  );
}

/** Marks the field as deprecated in the API documentation. It still works. */
export function Deprecated(): PropertyDecorator {
  return jsonSchema({ deprecated: true });
}

/** Absolute URI such as `https://…` or `data:…`. */
export function IsUri(): PropertyDecorator {
  return check('isUri', (value) =>
    typeof value === 'string' && URL.canParse(value) ? undefined : 'must be a URI such as https://example.com/me.png',
  );
}

rememberRules();

/**
 * Caches the rules of each class: class-validator compares the class with all others in each validation, which takes
 * 15 µs. The rules of a class and of its parents are complete before its first instance exists.
 */
function rememberRules(): void {
  const storage = getMetadataStorage();
  const rulesOf = storage.getTargetValidationMetadatas.bind(storage);
  const known = new Map<unknown, ReturnType<typeof rulesOf>>();
  storage.getTargetValidationMetadatas = (type, schema, always, strictGroups, groups) => {
    if (schema || always || strictGroups || groups) return rulesOf(type, schema, always, strictGroups, groups);
    const rules = known.get(type) ?? rulesOf(type, schema, always, strictGroups, groups);
    known.set(type, rules);
    return rules;
  };
}

/** Validation messages, one per absent or invalid field; empty for a valid input. */
export function problemsOf(input: object): string[] {
  return describeProblems(validateSync(input, { forbidUnknownValues: false }));
}

/**
 * Converts a plain object into an instance of its class and drops undeclared fields, unless the class is open. Other
 * values are returned unchanged, for the validation to reject.
 */
export function toInstance(type: Class<object>, plain: unknown): unknown {
  if (!isRecord(plain)) return plain;
  const instance = new type() as Record<string, unknown>;
  if (openTypes.has(type)) keepAll(instance, plain);
  for (const [name, convert] of conversionsOf(type)) {
    if (Object.hasOwn(plain, name)) instance[name] = convert(plain[name]);
  }
  return instance;
}

/** Open class: its objects keep undeclared fields unchanged. */
export function Open(): (type: Class<object>) => void {
  return (type) => {
    openTypes.add(type);
    JSONSchema({ additionalProperties: true })(type);
  };
}

const openTypes = new Set<unknown>();

/** Defines own properties, also for `__proto__`, which an assignment would take for the prototype. */
function keepAll(instance: object, fields: object): void {
  Object.defineProperties(instance, Object.getOwnPropertyDescriptors(fields));
}

type Convert = (value: unknown) => unknown;
const keep: Convert = (value) => value;
const conversions = new Map<unknown, Map<string, Convert>>();
const declared = new WeakMap<Class<object>, Map<string, Convert>>();

/** Converters of the body fields of a class and of its parents. */
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

/** One message per field, with its path: `indexing.stack must be …`, `list[1].name is missing`. */
function describeProblems(errors: ValidationError[], parent = ''): string[] {
  return errors.flatMap(({ property, value, constraints = {}, children = [] }) => {
    const path = pathOf(property, parent);
    const [first] = Object.keys(constraints).sort((a, b) => rank(a) - rank(b));
    // A value of the wrong shape is reported as a whole, without the problems of its parts.
    if (first === undefined) return describeProblems(children, path);
    return value === undefined ? `${path} is missing` : withPath(constraints[first]!, property, path);
  });
}

const types = ['isArray', 'isString', 'isInt', 'isNumber', 'isBoolean'];
const ranges = ['isLength', 'minLength', 'maxLength', 'min', 'max', 'arrayMinSize', 'arrayMaxSize'];

/** Priority of constraints: type, then form, then range. Only the first violated constraint is reported. */
function rank(constraint: string): number {
  if (types.includes(constraint)) return types.indexOf(constraint);
  return types.length + (ranges.includes(constraint) ? 1 : 0);
}

function pathOf(property: string, parent: string): string {
  if (!parent) return property;
  return /^\d+$/.test(property) ? `${parent}[${property}]` : `${parent}.${property}`;
}

/**
 * Replaces the field's name by its path: the first occurrence as a word of its own, since the message may repeat the
 * letters.
 */
function withPath(text: string, field: string, path: string): string {
  const words = text.split(' ');
  const index = words.indexOf(field);
  if (index >= 0) return words.with(index, path).join(' ');
  // A message may also begin with a path within the field.
  if (['.', '['].includes(text.charAt(field.length)) && text.startsWith(field))
    return `${path}${text.slice(field.length)}`;
  return `${path}: ${text}`;
}

function toMap(value: unknown, type: EntryType, { maxEntries = defaultMaxEntries }: MapOptions): unknown {
  if (!isRecord(value) || Object.keys(value).length > maxEntries) return value;
  const map = Object.create(null) as Record<string, unknown>;
  for (const [name, entry] of Object.entries(value)) {
    map[name] = type === String || type === Boolean ? entry : toInstance(type as Class<object>, entry);
  }
  return map;
}

function mapProblem(
  value: unknown,
  type: EntryType,
  { nullable, maxEntries = defaultMaxEntries, key, maxLength }: MapOptions,
): string | undefined {
  if (!isRecord(value)) return 'must be an object';
  const entries = Object.entries(value);
  if (entries.length > maxEntries) return `must have at most ${maxEntries} entries`;
  for (const [name, entry] of entries) {
    if (key && !key.test(name)) return `has a name "${shorten(name)}" that does not match ${key.source}`;
    if (entry === null && nullable) continue;
    const problem = entryProblem(entry, type, maxLength);
    if (problem) return `has an entry "${shorten(name)}" ${problem}`;
  }
  return undefined;
}

function entryProblem(entry: unknown, type: EntryType, maxLength: number | undefined): string | undefined {
  if (type === String) return textProblem(entry, maxLength);
  if (type === Boolean) return typeof entry === 'boolean' ? undefined : 'that must be a boolean';
  return objectProblem(entry);
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

function shorten(name: string): string {
  return name.length > 100 ? `${name.slice(0, 100)}…` : name;
}

function mapEntrySchema(type: EntryType, { nullable, maxLength }: MapOptions): JsonSchema {
  if (type === String)
    return { type: 'string', ...(maxLength ? { maxLength } : {}), ...(nullable ? { nullable } : {}) };
  if (type === Boolean) return { type: 'boolean', ...(nullable ? { nullable } : {}) };
  return nullable ? nullableReference(type) : referenceTo(type);
}

function referenceTo(type: { name: string }): JsonSchema {
  return { $ref: `#/components/schemas/${type.name}` };
}

/** OpenAPI 3.0 ignores keywords beside a `$ref`. */
function nullableReference(type: { name: string }): JsonSchema {
  return { type: 'object', nullable: true, allOf: [referenceTo(type)] };
}

/**
 * `limits` becomes the `context` of the rule in the metadata of class-validator, for tools that read the rules of a
 * class.
 */
function check(name: string, problem: (value: unknown) => string | undefined, limits?: object): PropertyDecorator {
  const validator = {
    validate: (value: unknown) => problem(value) === undefined,
    defaultMessage: (args?: ValidationArguments) => {
      const text = problem(args?.value) ?? 'is not valid';
      return `${args?.property ?? ''}${/^[.[]/.test(text) ? '' : ' '}${text}`;
    },
  };
  return ValidateBy({ name, validator }, { context: limits });
}

const documented = new Map<object, Record<PropertyKey, JsonSchema>>();

/**
 * Merges into the field's schema for the API documentation. The library's own decorator replaces the schema of an
 * earlier one.
 */
function jsonSchema(schema: JsonSchema): PropertyDecorator {
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
