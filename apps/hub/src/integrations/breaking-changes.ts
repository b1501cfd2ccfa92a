import { isRecord } from '@parley/contracts/is-record';
import type { IntegrationDefinition } from '@parley/contracts/hub/integration-definition';

type Schema = Record<string, unknown>;

/** Compares two definitions; returns one sentence per change that breaks bots, empty when there is none. */
export function breakingChanges(before: IntegrationDefinition, after: IntegrationDefinition): string[] {
  return [
    ...newDemands('configuration', before.configuration.schema, after.configuration.schema),
    ...compare('configuration', before.configurations, after.configurations, (path, { schema: old }, { schema }) =>
      newDemands(path, old, schema),
    ),
    ...compare('action', before.actions, after.actions, (path, old, action) => [
      ...newDemands(`input of ${path}`, old.input.schema, action.input.schema),
      ...lostPromises(`output of ${path}`, old.output.schema, action.output.schema),
    ]),
    ...compare('event', before.events, after.events, (path, { schema: old }, { schema }) =>
      lostPromises(path, old, schema),
    ),
    ...compare('entity', before.entities, after.entities, (path, { schema: old }, { schema }) =>
      lostPromises(path, old, schema),
    ),
    ...compare('state', before.states, after.states, () => []),
    ...compare('channel', before.channels, after.channels, (path, old, channel) =>
      compare(`${path}: message`, old.messages, channel.messages, (message, { schema: was }, { schema }) =>
        newDemands(message, was, schema),
      ),
    ),
  ];
}

function compare<T>(
  kind: string,
  before: Record<string, T>,
  after: Record<string, T>,
  inside: (path: string, before: T, after: T) => string[],
): string[] {
  return Object.entries(before).flatMap(([name, old]) => {
    const path = `${kind} "${name}"`;
    return Object.hasOwn(after, name) ? inside(path, old, after[name]!) : [`${path} is removed`];
  });
}

/** Schemas of values that bots send: reports properties that become required or stop accepting a type. */
function newDemands(path: string, before: Schema, after: Schema): string[] {
  const wasRequired = requiredOf(before);
  const demanded = requiredOf(after).filter((name) => !wasRequired.includes(name));
  return [
    ...demanded.map((name) => `${path}: property "${name}" is required now`),
    ...compareProperties(path, before, after, newDemands, (old, now) => accepts(now, old)),
  ];
}

/** Schemas of values that bots receive: reports removed properties and types that are new for a property. */
function lostPromises(path: string, before: Schema, after: Schema): string[] {
  const [old, now] = [propertiesOf(before), propertiesOf(after)];
  return [
    ...Object.keys(old)
      .filter((name) => !Object.hasOwn(now, name))
      .map((name) => `${path}: property "${name}" is removed`),
    ...compareProperties(path, before, after, lostPromises, (was, is) => accepts(was, is)),
  ];
}

/** Compares the properties that both schemas have, recursively through objects and list items. */
function compareProperties(
  path: string,
  before: Schema,
  after: Schema,
  inside: (path: string, before: Schema, after: Schema) => string[],
  fits: (before: Schema, after: Schema) => boolean,
): string[] {
  const now = propertiesOf(after);
  return Object.entries(propertiesOf(before)).flatMap(([name, old]) => {
    const property = Object.hasOwn(now, name) ? now[name] : undefined;
    if (!property) return [];
    if (!fits(old, property)) return [`${path}: property "${name}" has another type`];
    return inside(`${path}, in "${name}"`, itemOf(old), itemOf(property));
  });
}

/** True when the first schema allows every type that the second allows. */
function accepts(first: Schema, second: Schema): boolean {
  const [allowed, types] = [typesOf(first), typesOf(second)];
  if (allowed.length === 0) return true;
  return types.length > 0 && types.every((type) => allowed.includes(type) || isInteger(type, allowed));
}

function isInteger(type: unknown, allowed: unknown[]): boolean {
  return type === 'integer' && allowed.includes('number');
}

function typesOf({ type }: Schema): unknown[] {
  return type === undefined ? [] : [type].flat();
}

function requiredOf({ required }: Schema): string[] {
  return Array.isArray(required) ? (required as string[]) : [];
}

function propertiesOf({ properties }: Schema): Record<string, Schema> {
  const entries = isRecord(properties) ? Object.entries(properties) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, Schema] => isRecord(entry[1])));
}

/** Schema of the list items, or the schema itself when it is not a list. */
function itemOf(schema: Schema): Schema {
  return isRecord(schema['items']) ? schema['items'] : schema;
}
