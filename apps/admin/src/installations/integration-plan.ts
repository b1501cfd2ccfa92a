import type { ChangeInstallation } from '@parley/contracts/admin/bot-integrations';
import { ApiError } from '@parley/contracts/errors';
import type { InstallableIntegration } from '@parley/contracts/hub/resolution';
import { newId } from '@parley/database/ids';
import { type InstallationRow, statusOf, toSummary } from './installation.entity';

/** An installation that is new or changes. */
export interface WantedIntegration {
  /** What the caller calls it: its alias, or the id of its integration. */
  key: string;
  current?: InstallationRow;
  /** Version id that it will have. */
  id: string;
  change: ChangeInstallation;
}

export interface IntegrationPlan {
  wanted: WantedIntegration[];
  /** Aliases. */
  removed: string[];
}

/**
 * Which installations the changes are about. By id, when an integration is installed more than once, the one with the
 * smallest alias is meant, which is also the one that is shown. Removing what is not there changes nothing.
 */
export function planIntegrations(
  installed: InstallationRow[],
  changes: Record<string, ChangeInstallation | null>,
  byAlias: boolean,
): IntegrationPlan {
  const plan: IntegrationPlan = { wanted: [], removed: [] };
  for (const [key, change] of Object.entries(changes)) {
    const current = installed.find((row) => key === (byAlias ? row.alias : row.integration_id));
    if (change === null) plan.removed.push(...(current ? [current.alias] : []));
    else {
      const id = change.integrationId ?? current?.integration_id ?? (byAlias ? undefined : key);
      if (id === undefined)
        throw new ApiError('InvalidPayload', `integrations.${key}.integrationId is missing: it is not installed yet.`);
      plan.wanted.push({ key, current, id, change });
    }
  }
  return plan;
}

/** What is called by its id is named after its integration, with a number where that name is taken. */
export function chooseAlias(wanted: WantedIntegration, name: string, byAlias: boolean, taken: Set<string>): string {
  if (wanted.current) return wanted.current.alias;
  if (byAlias) return wanted.key;
  for (let number = 1; ; number += 1) {
    const alias = number === 1 ? name : `${name}-${number}`;
    if (!taken.has(alias)) return alias;
  }
}

/** The row after the change, with its configuration still to be checked by this schema and to be sealed. */
export function applyChange(
  { key, current, change }: WantedIntegration,
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
    `integrations.${key}.configurationType "${type}" is none of ${integration.name} ${integration.version}: it must be one of: ${allowed}.`,
  );
}

function requireChannels(key: string, disabled: string[], { name, version, channels }: InstallableIntegration): void {
  const unknown = disabled.find((channel) => !channels.includes(channel));
  if (unknown === undefined) return;
  throw new ApiError(
    'InvalidPayload',
    `integrations.${key}.disabledChannels has "${unknown}", which is no channel of ${name} ${version}: it has ${channels.join(', ') || 'none'}.`,
  );
}
