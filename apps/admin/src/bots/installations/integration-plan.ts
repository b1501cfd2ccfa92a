import type { ChangeInstallation } from '@parley/contracts/admin/bot-integrations';
import { ApiError } from '@parley/contracts/errors';
import type { InstallableIntegration } from '@parley/contracts/hub/resolution';
import { newId } from '@parley/persistence/ids';
import { type InstallationRow, toSummary } from './installation.entity';

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

type Registration = Pick<InstallationRow, 'status' | 'status_reason' | 'registration_revision'>;

/** Status after a change. A callable integration is notified what concerns it, and once more after a failure. */
export function registrationOf(
  current: InstallationRow | undefined,
  { enabled, is_callable, integration_id, configuration_type }: Omit<InstallationRow, keyof Registration>,
  isReconfigured: boolean,
): Registration {
  const revision = current?.registration_revision ?? 0;
  const wasNotified = current?.enabled === true && current.is_callable;
  if (!enabled) {
    if (!wasNotified)
      return {
        status: current?.enabled === false ? current.status : 'unregistered',
        status_reason: null,
        registration_revision: revision,
      };
    return { status: 'unregistration_pending', status_reason: null, registration_revision: revision + 1 };
  }
  if (!is_callable) return { status: 'registered', status_reason: null, registration_revision: revision };
  const isKnown =
    wasNotified &&
    !isReconfigured &&
    current.integration_id === integration_id &&
    current.configuration_type === configuration_type &&
    ['registered', 'registration_pending'].includes(current.status);
  if (isKnown) return { status: current.status, status_reason: current.status_reason, registration_revision: revision };
  return { status: 'registration_pending', status_reason: null, registration_revision: revision + 1 };
}

/** Whether the integration of `before` has to be notified that it is not installed any more. */
export function isUnregistered(before: InstallationRow, after: InstallationRow | undefined): boolean {
  if (!before.enabled || !before.is_callable) return false;
  return !after?.enabled || before.summary.name !== after.summary.name;
}

/**
 * Row after the change, and the schema for its configuration. The caller still has to validate and encrypt the
 * configuration.
 */
export function applyChange(
  { key, current, change }: RequestedIntegration,
  integration: InstallableIntegration,
  alias: string,
  isReconfigured: boolean,
): { row: InstallationRow; schema: Record<string, unknown> } {
  const enabled = change.enabled ?? current?.enabled ?? true;
  const configurationType =
    change.configurationType === undefined ? (current?.configuration_type ?? null) : change.configurationType;
  const disabledChannels = change.disabledChannels ?? current?.disabled_channels ?? [];
  requireChannels(key, disabledChannels, integration);
  const values = {
    alias,
    integration_id: integration.id,
    webhook_id: current?.webhook_id ?? newId('webhook'),
    enabled,
    configuration_type: configurationType,
    configuration: current?.configuration ?? null,
    disabled_channels: [...new Set(disabledChannels)],
    is_callable: integration.isCallable,
    identifier: current?.summary.name === integration.name ? current.identifier : null,
    summary: toSummary(integration),
  };
  const row = { ...values, ...registrationOf(current, values, isReconfigured) };
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
