import { Checked } from '../fields';
import { isRecord } from '../is-record';
import type { JsonSchema } from '../json-schema';
import { card, choices, simplePayloads } from './payload-schemas';

export const maxPayloadBytes = 128 * 1024;

interface Text {
  type: 'text';
  text: string;
}
interface Markdown {
  type: 'markdown';
  markdown: string;
}
interface Image {
  type: 'image';
  imageUrl: string;
}
interface Audio {
  type: 'audio';
  audioUrl: string;
}
interface Video {
  type: 'video';
  videoUrl: string;
}
interface File {
  type: 'file';
  fileUrl: string;
  title?: string;
}
interface Location {
  type: 'location';
  latitude: number;
  longitude: number;
  address?: string;
  title?: string;
}
interface Card {
  type: 'card';
  title: string;
  subtitle?: string;
  imageUrl?: string;
  actions: { action: 'postback' | 'url' | 'say'; label: string; value: string }[];
}
interface Choice<T extends string> {
  type: T;
  text: string;
  options: { label: string; value: string }[];
}
type Simple = Text | Markdown | Image | Audio | Video | File | Location;

/** Payload of a message on the chat endpoint. Its strings are not empty. */
export type ChatPayload =
  | Simple
  | Card
  | { type: 'carousel'; items: Card[] }
  | Choice<'choice'>
  | Choice<'dropdown'>
  | { type: 'bloc'; items: Simple[] };

interface ObjectSchema extends JsonSchema {
  /** Absent when it is not the schema of an object. */
  properties?: Record<string, JsonSchema>;
  required: string[];
}

const simple = Object.entries(simplePayloads).map(([type, schema]) => typed(type, schema));
const typedCard = typed('card', card);

const chatPayload = {
  oneOf: [
    ...simple,
    typedCard,
    typed('carousel', { properties: { items: { type: 'array', items: typedCard } }, required: ['items'] }),
    ...Object.entries(choices).map(([type, schema]) => typed(type, schema)),
    typed('bloc', { properties: { items: { type: 'array', items: { oneOf: simple } } }, required: ['items'] }),
  ],
};

export const chatPayloadTypes = typesOf(chatPayload) as readonly string[];

/** Payload of one of the twelve types. Drops the fields that its type does not declare. */
export function IsChatPayload(): PropertyDecorator {
  return Checked({ convert: (value) => known(chatPayload, value), problem: payloadProblem, schema: chatPayload });
}

/**
 * Coerces a foreign payload towards one of the twelve types: drops unknown fields and empty optional fields, and adds
 * missing lists.
 */
export function mendedPayload(payload: Record<string, unknown>): Record<string, unknown> {
  return mended(chatPayload, payload) as Record<string, unknown>;
}

/** Validation problem of a payload, prefixed by the path within it: ".text is missing". */
export function payloadProblem(value: unknown): string | undefined {
  const found = problemOf(chatPayload, value);
  if (found) return found;
  return Buffer.byteLength(JSON.stringify(value)) > maxPayloadBytes
    ? `must be at most ${maxPayloadBytes} bytes of JSON`
    : undefined;
}

/** Adds the discriminator `type`, and `minLength: 1` to all strings. */
function typed(type: string, { properties, required }: { properties: Record<string, object>; required: string[] }) {
  const fields = Object.entries(properties).map(([name, schema]) => [
    name,
    (schema as JsonSchema)['type'] === 'string' ? { minLength: 1, ...schema } : schema,
  ]);
  return {
    type: 'object',
    properties: {
      type: { type: 'string', enum: [type] },
      ...(Object.fromEntries(fields) as Record<string, JsonSchema>),
    },
    required: ['type', ...required],
  };
}

function known(schema: JsonSchema, value: unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema as { items?: JsonSchema };
    return items ? value.map((item) => known(items, item)) : value;
  }
  if (!isRecord(value)) return value;
  const properties = objectSchema(schema, value)?.properties;
  if (!properties) return value;
  const names = Object.keys(properties).filter((name) => Object.hasOwn(value, name));
  return Object.fromEntries(names.map((name) => [name, known(properties[name]!, value[name])]));
}

function mended(schema: JsonSchema, value: unknown): unknown {
  if (schema['type'] === 'array') {
    return Array.isArray(value) ? value.map((item) => mended(schema['items'] as JsonSchema, item)) : (value ?? []);
  }
  if (!isRecord(value)) return value;
  const fitting = objectSchema(schema, value);
  if (!fitting?.properties) return value;
  const fields = Object.entries(fitting.properties).map(([name, field]) => {
    const own = Object.hasOwn(value, name) ? value[name] : undefined;
    const isEmpty = own === undefined || own === null || own === '';
    return [name, isEmpty && !fitting.required.includes(name) ? undefined : mended(field, own)];
  });
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined)) as unknown;
}

/** Validation problem, prefixed by the path within the value. */
function problemOf(schema: JsonSchema, value: unknown): string | undefined {
  if (schema['type'] === 'array') return listProblem(schema['items'] as JsonSchema, value);
  if (schema['type'] === 'number') return Number.isFinite(value) ? undefined : 'must be a number';
  if (schema['type'] === 'string') return textProblem(schema, value);
  return objectProblem(schema, value);
}

function textProblem({ enum: choices }: JsonSchema, value: unknown): string | undefined {
  if (Array.isArray(choices)) return choices.includes(value) ? undefined : `must be one of: ${choices.join(', ')}`;
  return typeof value === 'string' && value !== '' ? undefined : 'must be a string that is not empty';
}

function listProblem(items: JsonSchema, value: unknown): string | undefined {
  if (!Array.isArray(value)) return 'must be an array';
  for (const [index, item] of value.entries()) {
    const found = problemOf(items, item);
    if (found) return located(`[${index}]`, found);
  }
  return undefined;
}

function objectProblem(schema: JsonSchema, value: unknown): string | undefined {
  if (!isRecord(value)) return 'must be an object';
  const fitting = objectSchema(schema, value);
  if (!fitting) return `.type must be one of: ${typesOf(schema).join(', ')}`;
  for (const [name, field] of Object.entries(fitting.properties ?? {})) {
    const isAbsent = !Object.hasOwn(value, name) || value[name] === undefined;
    if (isAbsent && !fitting.required.includes(name)) continue;
    if (isAbsent) return `.${name} is missing`;
    const found = problemOf(field, value[name]);
    if (found) return located(`.${name}`, found);
  }
  return undefined;
}

function located(place: string, problem: string): string {
  return `${place}${/^[.[]/.test(problem) ? '' : ' '}${problem}`;
}

/** Schema itself, or the member of its union that has the value's type. */
function objectSchema(schema: JsonSchema, { type }: Record<string, unknown>): ObjectSchema | undefined {
  const { oneOf } = schema as { oneOf?: ObjectSchema[] };
  return oneOf ? oneOf.find((one) => typeOf(one) === type) : (schema as ObjectSchema);
}

function typesOf({ oneOf }: JsonSchema): unknown[] {
  return (oneOf as ObjectSchema[]).map(typeOf);
}

function typeOf({ properties }: ObjectSchema): unknown {
  return (properties!['type'] as { enum: string[] }).enum[0];
}
