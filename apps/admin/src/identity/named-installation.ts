import { requirePermission } from '@parley/contracts/access';
import type { Identify } from '@parley/contracts/admin/identity';
import type { Role } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { TokenHolder } from './identity.repository';

/**
 * The installation that the headers name: by its alias, else by its integration if the bot has that installed once. An
 * integration key means its own integration. Throws Forbidden for what is not installed, InvalidPayload for what may be
 * several. Undefined when none is named.
 */
export function namedInstallation(
  holder: TokenHolder,
  { integrationAlias: alias, integrationId }: Identify,
  role: Role | undefined,
): { id: string; alias: string } | undefined {
  const id = integrationId ?? holder.integrationId ?? undefined;
  if (alias === undefined && id === undefined) return undefined;
  if (role) requirePermission(role, 'write');
  if (holder.kind === 'iak' && id !== holder.integrationId) throw notInstalled('x-integration-id', id);
  const meant = holder.installations.filter(
    (installation) =>
      (alias === undefined || installation.alias === alias) && (id === undefined || installation.id === id),
  );
  const [installation] = meant;
  if (!installation)
    throw alias === undefined ? notInstalled('x-integration-id', id) : notInstalled('x-integration-alias', alias);
  if (meant.length === 1) return installation;
  const aliases = meant.map((entry) => entry.alias).sort();
  throw new ApiError(
    'InvalidPayload',
    `The bot has the integration "${id}" installed ${meant.length} times: name one by the header x-integration-alias, which must be one of: ${aliases.join(', ')}.`,
  );
}

function notInstalled(header: string, value: string | undefined): ApiError {
  return new ApiError('Forbidden', `${header} "${value}" names no integration that is installed in this bot.`);
}
