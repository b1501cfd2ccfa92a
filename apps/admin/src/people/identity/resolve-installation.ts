import { requirePermission } from '@parley/contracts/access';
import type { Identify } from '@parley/contracts/admin/identity';
import type { Role } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { TokenHolder } from './identity.repository';

/**
 * Installation that the headers name: by alias, or else by integration if the bot has exactly one installation of
 * it. An integration key implies its own integration. Undefined when the headers name none.
 *
 * Throws Forbidden for a missing installation, InvalidPayload when several match.
 */
export function resolveInstallation(
  holder: TokenHolder,
  { integrationAlias: alias, integrationId }: Identify,
  role: Role | undefined,
): { id: string; alias: string } | undefined {
  const id = integrationId ?? holder.integrationId ?? undefined;
  if (alias === undefined && id === undefined) return undefined;
  if (role) requirePermission(role, 'write');
  if (holder.kind === 'iak' && id !== holder.integrationId) throw notInstalled('x-integration-id', id);
  const matches = holder.installations.filter(
    (installation) =>
      (alias === undefined || installation.alias === alias) && (id === undefined || installation.id === id),
  );
  const [installation] = matches;
  if (!installation)
    throw alias === undefined ? notInstalled('x-integration-id', id) : notInstalled('x-integration-alias', alias);
  if (matches.length === 1) return installation;
  const aliases = matches.map((entry) => entry.alias).sort();
  throw new ApiError(
    'InvalidPayload',
    `x-integration-alias is missing: the bot has the integration "${id}" installed ${matches.length} times. Name one of: ${aliases.join(', ')}.`,
  );
}

function notInstalled(header: string, value: string | undefined): ApiError {
  return new ApiError('Forbidden', `${header} "${value}": no such integration is installed in this bot.`);
}
