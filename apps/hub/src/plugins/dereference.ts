import { mapEntries, ownEntry } from '@parley/contracts/entries';
import { ApiError } from '@parley/contracts/errors';
import type { EntityDefinition } from '@parley/contracts/definition';
import type { PluginDefinition } from '@parley/contracts/hub/plugin-definition';
import type { Dependency } from '@parley/contracts/hub/plugins';
import type { InterfaceBinding } from '@parley/contracts/hub/resolution';
import { isRecord } from '@parley/contracts/is-record';

export interface Implementer {
  id: string;
  name: string;
  version: string;
  entities: Record<string, EntityDefinition>;
  /** Implemented interfaces by alias, with the integration's names for their entities. */
  interfaces: Record<string, { id: string; name: string; entities: Record<string, { name: string }> }>;
}

type Parts = Pick<PluginDefinition, 'configuration' | 'states' | 'events' | 'actions'>;
type Bindings = Record<string, InterfaceBinding>;

const reference = /^interface:(.+?)\/entities\/(.+)$/s;
/** Memory limit: a small schema with many references to large ones can grow without bounds. */
const maxReplacedBytes = 4 * 1024 * 1024;

/**
 * Replaces each `$ref` to `interface:<alias>/entities/<entity>` by the schema of that entity in the integration that is
 * bound to the interface. Throws InvalidPayload or ReferenceNotFound when an interface of the plugin is not bound to an
 * integration that implements it.
 */
export function dereference<T extends Parts>(
  definition: T,
  interfaces: Record<string, Dependency>,
  bindings: Bindings,
  implementers: Map<string, Implementer>,
): T {
  const bound = new Map(
    Object.entries(interfaces).map(([alias, dependency]) => {
      const binding = Object.hasOwn(bindings, alias) ? bindings[alias] : undefined;
      return [alias, bind(alias, dependency, binding, implementers)];
    }),
  );
  const replace = replacer((alias, entity) => {
    const schemaOf = bound.get(alias);
    if (!schemaOf)
      throw missing(`"interface:${alias}/entities/${entity}": the plugin has no dependency on an interface "${alias}"`);
    return schemaOf(entity);
  });
  const { configuration, states, events, actions } = definition;
  return {
    ...definition,
    configuration: { ...configuration, schema: replace(configuration.schema) },
    states: mapEntries(states, (state) => ({ ...state, schema: replace(state.schema) })),
    events: mapEntries(events, (event) => ({ ...event, schema: replace(event.schema) })),
    actions: mapEntries(actions, (action) => ({
      ...action,
      input: { schema: replace(action.input.schema) },
      output: { schema: replace(action.output.schema) },
    })),
  };
}

type Schema = Record<string, unknown>;

function bind(
  alias: string,
  dependency: Dependency,
  binding: InterfaceBinding | undefined,
  implementers: Map<string, Implementer>,
): (entity: string) => Schema {
  if (!binding)
    throw new ApiError(
      'InvalidPayload',
      `interfaces.${alias} is missing: bind it to an integration that implements it.`,
    );
  const integration = implementers.get(binding.integrationId);
  if (!integration) throw missing(`interfaces.${alias}: integration "${binding.integrationId}" not found`);
  const label = `integration ${integration.name} ${integration.version}`;
  const implementation = pick(alias, dependency, binding, integration);
  return (entity) => {
    const name = ownEntry(implementation.entities, entity)?.name;
    const schema = name === undefined ? undefined : ownEntry(integration.entities, name)?.schema;
    if (!schema) throw missing(`interfaces.${alias}: ${label} has no schema for the entity "${entity}"`);
    return schema;
  };
}

/**
 * Finds the integration's implementation of the interface: of this version, or else of another version of the same
 * name.
 */
function pick(
  alias: string,
  dependency: Dependency,
  { integrationInterfaceAlias }: InterfaceBinding,
  integration: Implementer,
) {
  const label = `integration ${integration.name} ${integration.version}`;
  const all = Object.entries(integration.interfaces).filter(
    ([own]) => integrationInterfaceAlias === undefined || own === integrationInterfaceAlias,
  );
  const same = all.filter(([, { id }]) => id === dependency.id);
  const candidates = same.length > 0 ? same : all.filter(([, { name }]) => name === dependency.name);
  const [first, second] = candidates;
  if (!first) {
    const where = integrationInterfaceAlias === undefined ? '' : ` as "${integrationInterfaceAlias}"`;
    throw missing(`interfaces.${alias}: ${label} does not implement ${dependency.name}${where}`);
  }
  if (second) {
    const aliases = candidates.map(([own]) => `"${own}"`).join(' and ');
    throw missing(`interfaces.${alias}: ${label} implements ${dependency.name} more than once, as ${aliases}`);
  }
  return first[1];
}

/** Replaces references in one schema after another; the size limit applies to all of them together. */
function replacer(schemaOf: (alias: string, entity: string) => Schema): (schema: Schema) => Schema {
  let bytes = 0;
  const visit = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(visit);
    if (!isRecord(value)) return value;
    const [, alias, entity] = (typeof value['$ref'] === 'string' && reference.exec(value['$ref'])) || [];
    if (alias === undefined || entity === undefined) return mapEntries(value, visit);
    const schema = schemaOf(alias, entity);
    bytes += Buffer.byteLength(JSON.stringify(schema));
    if (bytes > maxReplacedBytes) {
      throw new ApiError(
        'InvalidPayload',
        `The plugin is too large: the schemas of its referenced entities must have at most ${maxReplacedBytes} bytes in total.`,
      );
    }
    return schema;
  };
  return (schema) => visit(schema) as Schema;
}

function missing(what: string): ApiError {
  return new ApiError('ReferenceNotFound', `${what}.`);
}
