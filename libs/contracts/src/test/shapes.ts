import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { allConsumers } from '../apps';
import { allOperations } from '../contracts';
import { componentSchemas, type JsonSchema, schemaNameOf } from '../json-schema';
import type { Broadcast, Channel, Class, Event } from '../operation';
import { fieldSources } from '../query-fields';

/** What is said of one field; its place in a message is its name here, such as `passages[].tags{}`. */
export interface Field {
  type: string;
  required: boolean;
  nullable?: true;
  enum?: unknown[];
  pattern?: string;
  atLeast?: Record<string, number>;
  atMost?: Record<string, number>;
}
export type Fields = Record<string, Field>;

export interface OperationShape {
  route?: string;
  status: number;
  input: Fields;
  output: Fields;
}

/** What one release of a process says to another one. */
export interface Shapes {
  operations: Record<string, OperationShape>;
  /** Events, broadcasts and channels. */
  news: Record<string, Fields>;
  /** The subject of the event of each. */
  consumers: Record<string, string>;
}

const lowerLimits = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems'];
const upperLimits = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems'];

/** The messages of the contracts as they are now. */
export async function currentShapes(): Promise<Shapes> {
  const schemas = componentSchemas();
  const operations: [string, OperationShape][] = allOperations.map(({ subject, route, status, input, output }) => [
    subject,
    { route, status, input: { ...fieldsOf(input, schemas), ...parameters(input) }, output: fieldsOf(output, schemas) },
  ]);
  const news: [string, Fields][] = (await allNews()).map(({ kind, subject, data }) => [
    `${kind} ${subject}`,
    fieldsOf(data, schemas),
  ]);
  const shapes: Shapes = {
    operations: Object.fromEntries(operations),
    news: Object.fromEntries(news),
    consumers: Object.fromEntries(allConsumers.map(({ name, event }) => [name, event.subject])),
  };
  // What is undefined is not there, as in the file of the release.
  return JSON.parse(JSON.stringify(shapes)) as Shapes;
}

/** Every event, broadcast and channel that a file of the contracts exports. */
async function allNews(): Promise<(Event | Broadcast | Channel)[]> {
  const folder = join(__dirname, '..');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/\.(spec|d)\.ts$|^test\//.test(path))
    .sort();
  const modules = await Promise.all(
    files.map((path) => import(join(folder, path)) as Promise<Record<string, unknown>>),
  );
  return [...new Set(modules.flatMap((module) => Object.values(module)))].filter(isNews);
}

function isNews(value: unknown): value is Event | Broadcast | Channel {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? value.kind : undefined;
  return kind === 'event' || kind === 'broadcast' || kind === 'channel';
}

function parameters(input: Class<unknown>): Fields {
  return Object.fromEntries(fieldSources(input).map(({ name, schema, required }) => [name, fieldOf(schema, required)]));
}

function fieldsOf(type: Class<unknown>, schemas: Record<string, JsonSchema>): Fields {
  const fields: Fields = {};
  const name = schemaNameOf(type, schemas);
  if (name) collect(schemas[name]!, '', schemas, [name], fields);
  return fields;
}

/** Adds what is below a schema. A class inside itself is told once. */
function collect(
  schema: JsonSchema,
  place: string,
  schemas: Record<string, JsonSchema>,
  within: string[],
  fields: Fields,
): void {
  const {
    properties,
    items,
    additionalProperties,
    required = [],
  } = schema as {
    properties?: Record<string, JsonSchema>;
    items?: JsonSchema;
    additionalProperties?: JsonSchema | boolean;
    required?: string[];
  };
  const visit = (below: JsonSchema, name: string, isRequired: boolean) => {
    const reference = referenced(below);
    fields[name] = fieldOf(reference ? { ...below, type: 'object' } : below, isRequired);
    if (reference && within.includes(reference)) return;
    collect(reference ? (schemas[reference] ?? {}) : below, name, schemas, [...within, reference ?? ''], fields);
  };
  for (const [name, below] of Object.entries(properties ?? {})) {
    visit(below, place ? `${place}.${name}` : name, required.includes(name));
  }
  if (items) visit(items, `${place}[]`, false);
  if (typeof additionalProperties === 'object') visit(additionalProperties, `${place}{}`, false);
}

/** The name of the class that a schema refers to, by itself or, where it may be null, by its only part. */
function referenced({ $ref, allOf }: JsonSchema): string | undefined {
  if (Array.isArray(allOf)) return referenced(allOf[0] as JsonSchema);
  return typeof $ref === 'string' ? /\w+$/.exec($ref)?.[0] : undefined;
}

function fieldOf(schema: JsonSchema, required: boolean): Field {
  const limits = (names: string[]) => {
    const given = names.flatMap((name) => (typeof schema[name] === 'number' ? [[name, schema[name]]] : []));
    return given.length > 0 ? (Object.fromEntries(given) as Record<string, number>) : undefined;
  };
  return {
    type: typeof schema['type'] === 'string' ? schema['type'] : 'any',
    required,
    nullable: schema['nullable'] === true ? true : undefined,
    enum: schema['enum'] as unknown[] | undefined,
    pattern: schema['pattern'] as string | undefined,
    atLeast: limits(lowerLimits),
    atMost: limits(upperLimits),
  };
}
