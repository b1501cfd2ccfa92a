import type { BotCaller } from '@parley/contracts/access';
import type { AccessPolicy, FileOwner } from '@parley/contracts/files';

export type OwnerType = FileOwner['type'];

export interface FileScope {
  botId: string;
  /** Namespace of keys: the alias of an installation, or '' for the bot and its users. */
  namespace: string;
  owner: OwnerType;
  ownerId: string | null;
}

/** A user takes precedence over the integration that acts for them. */
export function fileScopeOf({ bot, user, integration }: BotCaller): FileScope {
  if (user) return { botId: bot.id, namespace: '', owner: 'user', ownerId: user.id };
  if (integration?.alias !== undefined)
    return { botId: bot.id, namespace: integration.alias, owner: 'integration', ownerId: integration.id };
  return { botId: bot.id, namespace: '', owner: 'bot', ownerId: null };
}

/**
 * SQL condition: files that the scope may change, which are all for the bot, and their own for others. Appends its
 * parameters to `values`. Literal for each type of owner, so that Postgres can use the partial index.
 */
export function owned(scope: FileScope, values: unknown[]): string {
  return `(file.bot_id = $${values.push(scope.botId)} AND ${own(scope, values)})`;
}

export const notExpired = '(file.expires_at IS NULL OR file.expires_at > now())';

export function readsAll({ owner }: FileScope): boolean {
  return owner === 'bot';
}

/** SQL condition: unexpired files that the scope may read. Appends its parameters to `values`. */
export function readable(scope: FileScope, values: unknown[]): string {
  const mine = own(scope, values);
  const policy = policies[scope.owner];
  const visible = policy ? `(${mine} OR file.access_policies @> '{${policy}}')` : mine;
  return `(file.bot_id = $${values.push(scope.botId)} AND ${notExpired} AND ${visible})`;
}

function own({ owner, namespace, ownerId }: FileScope, values: unknown[]): string {
  if (owner === 'bot') return 'true';
  return owner === 'user'
    ? `(file.owner_type = 'user' AND file.owner_id = $${values.push(ownerId)})`
    : `(file.owner_type = 'integration' AND file.namespace = $${values.push(namespace)})`;
}

/** Access policy that lets this type of caller read files of other owners. */
const policies: Record<OwnerType, AccessPolicy | undefined> = {
  bot: undefined,
  integration: 'integrations',
  user: 'public_content',
};

export function owns(scope: FileScope, row: { owner_type: OwnerType; owner_id: string | null; namespace: string }) {
  if (scope.owner === 'bot') return true;
  if (row.owner_type !== scope.owner) return false;
  return scope.owner === 'user' ? row.owner_id === scope.ownerId : row.namespace === scope.namespace;
}
