import type { BindIntegration, BindInterface, ChangePlugin } from '@parley/contracts/admin/bot-plugins';
import type { RecurringEventDefinition } from '@parley/contracts/definition';
import { mapEntries } from '@parley/contracts/entries';
import { ApiError } from '@parley/contracts/errors';
import type { InstallablePlugin, PluginToResolve } from '@parley/contracts/hub/resolution';
import { type InstallationRow, type PluginRow, toPluginDefinition, toSummary } from './installation.entity';

/** Plugin to install or to change, or to resolve again because an installation that it depends on changes. */
export interface RequestedPlugin {
  alias: string;
  /** Version id. */
  id: string;
  current?: PluginRow;
  enabled: boolean;
  /** Keeps the configuration of `current` when undefined. */
  configuration?: Record<string, unknown>;
  interfaces: Record<string, BindInterface & BindIntegration>;
  integrations: Record<string, BindIntegration>;
  recurringEvents: Record<string, RecurringEventDefinition>;
}

export interface PluginPlan {
  requested: RequestedPlugin[];
  removed: string[];
}

/**
 * Selects the plugins to resolve again and binds each dependency to an installation. `touched` holds the aliases of
 * integrations that change or are removed. Throws InvalidPayload for a binding to a missing installation.
 */
export function planPlugins(
  installed: PluginRow[],
  changes: Record<string, ChangePlugin | null>,
  integrations: InstallationRow[],
  touched: Set<string>,
): PluginPlan {
  const removed = installed.map(({ alias }) => alias).filter((alias) => changes[alias] === null);
  const changed = Object.entries(changes).flatMap(([alias, change]) =>
    change ? [toRequestedPlugin(alias, change, find(installed, alias), integrations)] : [],
  );
  const affected = installed
    .filter((row) => !Object.hasOwn(changes, row.alias) && bindingsOf(row).some((alias) => touched.has(alias)))
    .map((row) => toRequestedPlugin(row.alias, { id: row.plugin_id }, row, integrations));
  return { requested: [...changed, ...affected], removed };
}

export function toResolve({ alias, id, interfaces }: RequestedPlugin): PluginToResolve {
  const bindings = Object.entries(interfaces).map(([name, { integrationId, integrationInterfaceAlias }]) => [
    name,
    { integrationId, ...(integrationInterfaceAlias === undefined ? {} : { integrationInterfaceAlias }) },
  ]);
  return { alias, id, interfaces: Object.fromEntries(bindings) as PluginToResolve['interfaces'] };
}

/**
 * Row without its configuration, which the caller still has to validate and encrypt. Drops bindings that the plugin
 * does not declare. Throws InvalidPayload when a dependency of the plugin has no binding.
 */
export function toPluginRow(requested: RequestedPlugin, plugin: InstallablePlugin): Omit<PluginRow, 'configuration'> {
  const { alias } = requested;
  return {
    alias,
    plugin_id: plugin.id,
    enabled: requested.enabled,
    interfaces: bound(
      `plugins.${alias}.interfaces`,
      plugin.interfaces,
      requested.interfaces,
      (binding, interfaceId) => ({
        ...binding,
        interfaceId,
      }),
    ),
    integrations: bound(
      `plugins.${alias}.integrations`,
      plugin.integrations,
      requested.integrations,
      (binding) => binding,
    ),
    summary: toSummary(plugin),
    definition: toPluginDefinition(plugin),
    recurring_events: requested.recurringEvents,
  };
}

function bound<B, R>(
  path: string,
  dependencies: Record<string, string>,
  bindings: Record<string, B>,
  toBound: (binding: B, id: string) => R,
): Record<string, R> {
  const entries = Object.entries(dependencies).map(([name, id]) => {
    const binding = Object.hasOwn(bindings, name) ? bindings[name] : undefined;
    if (!binding)
      throw new ApiError(
        'InvalidPayload',
        `${path}.${name} is missing: bind this dependency of the plugin to an installed integration.`,
      );
    return [name, toBound(binding, id)] as const;
  });
  return Object.fromEntries(entries);
}

/** Keeps current bindings that the change leaves out, rebound to the version that is then installed under the alias. */
function toRequestedPlugin(
  alias: string,
  change: ChangePlugin,
  current: PluginRow | undefined,
  installed: InstallationRow[],
): RequestedPlugin {
  const path = `plugins.${alias}`;
  const interfaces: Record<string, BindInterface> = change.interfaces ?? byAliasAlone(current?.interfaces);
  const integrations: Record<string, Partial<BindIntegration>> = change.integrations ??
  byAliasAlone(current?.integrations);
  return {
    alias,
    id: change.id,
    current,
    enabled: change.enabled ?? current?.enabled ?? true,
    configuration: change.configuration,
    recurringEvents: change.definition?.recurringEvents ?? (change.definition ? {} : (current?.recurring_events ?? {})),
    interfaces: mapEntries(interfaces, ({ integrationInterfaceAlias, ...binding }, name) => ({
      ...resolveBinding(`${path}.interfaces.${name}`, binding, installed),
      ...(integrationInterfaceAlias === undefined ? {} : { integrationInterfaceAlias }),
    })),
    integrations: mapEntries(integrations, (binding, name) =>
      resolveBinding(`${path}.integrations.${name}`, binding, installed),
    ),
  };
}

function byAliasAlone<T extends BindIntegration>(bindings: Record<string, T> = {}) {
  return mapEntries(bindings, ({ integrationId: _id, ...rest }) => rest as Omit<T, 'integrationId'> & BindInterface);
}

/** Resolves a binding to an installation: by alias, or else the first installation of the integration. */
function resolveBinding(
  path: string,
  binding: Partial<BindIntegration>,
  installed: InstallationRow[],
): BindIntegration {
  const { integrationId, integrationAlias } = binding;
  const found = installed.find(
    (row) =>
      (integrationAlias === undefined || row.alias === integrationAlias) &&
      (integrationId === undefined || row.integration_id === integrationId),
  );
  if (found) return { integrationId: found.integration_id, integrationAlias: found.alias };
  const named = [integrationId, integrationAlias].filter((name) => name !== undefined).join('" as "');
  throw new ApiError(
    'InvalidPayload',
    `${path} is bound to the integration "${named}", which the bot does not have. Install it, or bind another integration.`,
  );
}

function bindingsOf({ interfaces, integrations }: PluginRow): string[] {
  return [...Object.values(interfaces), ...Object.values(integrations)].map(({ integrationAlias }) => integrationAlias);
}

function find(rows: PluginRow[], alias: string): PluginRow | undefined {
  return rows.find((row) => row.alias === alias);
}
