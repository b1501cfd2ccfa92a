import type { BotCaller } from '@parley/contracts/access';
import type { ResolvedBotDefinition, ResolvedInstallation } from '@parley/contracts/admin/bot-definitions';
import type { StateName } from '@parley/contracts/chat/states';
import { ownEntry } from '@parley/contracts/entries';
import { ApiError, notFound } from '@parley/contracts/errors';
import { storedName } from '../queries/scope';

type StateCaller = Pick<BotCaller, 'integration'>;

export interface DeclaredState {
  /** Storage key: `owner_id` of the row. */
  ownerId: string;
  name: string;
  /** Absent if any payload is allowed. */
  schema?: Record<string, unknown>;
  /** Default expiry of a new state. */
  expiryMs: number | null;
}

interface Definition {
  type: string;
  schema: Record<string, unknown>;
  expiry?: number;
}

const maxListed = 50;

/**
 * Undefined if neither the bot nor an integration of it declares this name for this type. Throws InvalidPayload for an
 * integration that is installed several times, unless the caller names an alias.
 */
export function declaredState(
  bot: ResolvedBotDefinition,
  caller: StateCaller,
  path: StateName,
): DeclaredState | undefined {
  const { type, id, name } = path;
  if (type === 'integration') return ofInstallation(installationWithId(bot, caller, id), name);
  if (type === 'workflow') return { ownerId: id, name: storedName(caller, name), expiryMs: null };
  const stored = storedName(caller, name);
  const definition = definitionOf(bot, caller, stored);
  return definition?.type === type ? declared(id, stored, definition) : undefined;
}

export function undeclared(bot: ResolvedBotDefinition, caller: StateCaller, { type, id, name }: StateName): ApiError {
  const installation = type === 'integration' ? installationWithId(bot, caller, id) : undefined;
  if (type === 'integration' && !installation) return notFound('integration', id);
  const own = installation?.alias ?? caller.integration?.alias;
  const names = own === undefined ? namesOfBot(bot, type) : namesOf(installationWithAlias(bot, own), type);
  const who = own === undefined ? 'this bot' : `the integration ${own}`;
  return new ApiError(
    'ResourceNotFound',
    `State "${name}" of type ${type} not found. Declared by ${who} for this type: ${names.slice(0, maxListed).join(', ') || 'none'}.`,
  );
}

/** A state of the bot wins over one of an integration. */
function definitionOf(
  bot: ResolvedBotDefinition,
  { integration }: StateCaller,
  stored: string,
): Definition | undefined {
  const own = integration?.alias === undefined ? ownEntry<Definition>(bot.states, stored) : undefined;
  if (own) return own;
  const installation = bot.installations.find(({ alias }) => stored.startsWith(`${alias}:`));
  return installation && ownEntry<Definition>(installation.states, stored.slice(installation.alias.length + 1));
}

function installationWithId(
  bot: ResolvedBotDefinition,
  { integration }: StateCaller,
  id: string,
): ResolvedInstallation | undefined {
  const alias = integration?.alias;
  const installed = bot.installations.filter(
    (entry) => entry.integrationId === id && (alias === undefined || entry.alias === alias),
  );
  if (installed.length > 1)
    throw new ApiError(
      'InvalidPayload',
      `Integration "${id}" is installed ${installed.length} times in this bot. Name one by the header x-integration-alias: ${installed.map((entry) => entry.alias).join(', ')}.`,
    );
  return installed[0];
}

function ofInstallation(installation: ResolvedInstallation | undefined, name: string): DeclaredState | undefined {
  const definition = installation && ownEntry<Definition>(installation.states, name);
  if (definition?.type !== 'integration') return undefined;
  const { alias } = installation!;
  return declared(alias, `${alias}:${name}`, definition);
}

function declared(ownerId: string, name: string, { schema, expiry }: Definition): DeclaredState {
  return { ownerId, name, schema, expiryMs: expiry ?? null };
}

function namesOfBot(bot: ResolvedBotDefinition, type: string): string[] {
  const own = namesOf(bot, type);
  const others = bot.installations.flatMap((installation) =>
    namesOf(installation, type).map((name) => `${installation.alias}:${name}`),
  );
  return [...own, ...others];
}

function namesOf(declaring: { states: Record<string, Definition> } | undefined, type: string): string[] {
  return Object.entries(declaring?.states ?? {})
    .flatMap(([name, state]) => (state.type === type ? [name] : []))
    .sort();
}

function installationWithAlias(
  { installations }: ResolvedBotDefinition,
  alias: string,
): ResolvedInstallation | undefined {
  return installations.find((installation) => installation.alias === alias);
}
