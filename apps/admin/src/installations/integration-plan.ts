import type { ChangeInstallation } from '@parley/contracts/admin/bot-integrations';
import { ApiError } from '@parley/contracts/errors';
import type { InstallableIntegration } from '@parley/contracts/hub/resolution';
import { newId } from '@parley/persistence/ids';
import { type InstallationRow, statusOf, toSummary } from './installation.entity';

export interface RequestedIntegration {
  /** Key in the request: the alias, or the id of the integration. */
  key: string;
  current?: InstallationRow;
  id: string;
  change: ChangeInstallation;
}

export interface IntegrationPlan {
  requested: RequestedIntegration[];
  removed: string[];
}

/**
 * Matches the changes to installations. By id, an integration that is installed more than once means its smallest
 * alias, which is also the one shown. Removing a missing installation is a no-op.
 */
export function planIntegrations(
  installed: InstallationRow[],
  changes: Record<string, ChangeInstallation | null>,
  byAlias: boolean,
): IntegrationPlan {
  const plan: IntegrationPlan = { requested: [], removed: [] };
  for (const [key, change] of Object.entries(changes)) {
    const current = installed.find((row) => key === (byAlias ? row.alias : row.integration_id));
    if (change === null) plan.removed.push(...(current ? [current.alias] : []));
    else {
      const id = change.integrationId ?? current?.integration_id ?? (byAlias ? undefined : key);
      if (id === undefined)
        throw new ApiError(
          'InvalidPayload',
          `integrations.${key}.integrationId is missing: no integration is installed under this alias yet.`,
        );
      plan.requested.push({ key, current, id, change });
    }
  }
  return plan;
}

/** Without an alias in the request, the alias is the integration's name, with a number when that is taken. */
export function chooseAlias(
  requested: RequestedIntegration,
  name: string,
  byAlias: boolean,
  taken: Set<string>,
): string {
  if (requested.current) return requested.current.alias;
  if (byAlias) return requested.key;
  for (let number = 1; ; number += 1) {
    const alias = number === 1 ? name : `${name}-${number}`;
    if (!taken.has(alias)) return alias;
  }
}

/**
 * Row after the change, and the schema for its configuration. The caller still has to validate and encrypt the
 * configuration.
 */
export function applyChange(
  { key, current, change }: RequestedIntegration,
  integration: InstallableIntegration,
  alias: string,
): { row: InstallationRow; schema: Record<string, unknown> } {
  const enabled = change.enabled ?? current?.enabled ?? true;
  const configurationType =
    change.configurationType === undefined ? (current?.configuration_type ?? null) : change.configurationType;
  const disabledChannels = change.disabledChannels ?? current?.disabled_channels ?? [];
  requireChannels(key, disabledChannels, integration);
  const row: InstallationRow = {
    alias,
    integration_id: integration.id,
    webhook_id: current?.webhook_id ?? newId('webhook'),
    enabled,
    configuration_type: configurationType,
    configuration: current?.configuration ?? null,
    disabled_channels: [...new Set(disabledChannels)],
    ...statusOf(enabled, integration.isCallable),
    identifier: current?.identifier ?? null,
    summary: toSummary(integration),
  };
  return { row, schema: schemaOf(key, configurationType, integration) };
}

function schemaOf(key: string, type: string | null, integration: InstallableIntegration): Record<string, unknown> {
  if (type === null) return integration.configurationSchema;
  const schemas = integration.configurationSchemas;
  if (Object.hasOwn(schemas, type)) return schemas[type]!;
  const allowed = ['null', ...Object.keys(schemas)].join(', ');
  throw new ApiError(
    'InvalidPayload',
    `integrations.${key}.configurationType: ${integration.name} ${integration.version} has no configuration "${type}". Use one of: ${allowed}.`,
  );
}

function requireChannels(key: string, disabled: string[], { name, version, channels }: InstallableIntegration): void {
  const unknown = disabled.find((channel) => !channels.includes(channel));
  if (unknown === undefined) return;
  throw new ApiError(
    'InvalidPayload',
    `integrations.${key}.disabledChannels: ${name} ${version} has no channel "${unknown}". Its channels: ${channels.join(', ') || 'none'}.`,
  );
}
