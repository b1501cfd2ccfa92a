import type { BotCaller } from '@parley/contracts/access';
import type { AccessPolicy, FileOwner } from '@parley/contracts/files';

export type OwnerType = FileOwner['type'];

/** Whose files are looked at, and who looks. */
export interface FileScope {
  botId: string;
  /** Of the keys: the alias of an installation, or '' for the bot and its users. */
  namespace: string;
  /** Who asks; it owns what it makes. */
  owner: OwnerType;
  /** Of the user or integration that asks. */
  ownerId: string | null;
}

/** The user that somebody acts for counts more than the integration that acts. */
export function fileScopeOf({ bot, user, integration }: BotCaller): FileScope {
  if (user) return { botId: bot.id, namespace: '', owner: 'user', ownerId: user.id };
  if (integration?.alias !== undefined)
    return { botId: bot.id, namespace: integration.alias, owner: 'integration', ownerId: integration.id };
  return { botId: bot.id, namespace: '', owner: 'bot', ownerId: null };
}

/**
 * SQL that holds for files that the scope may change: the bot all of its, others what is their own. Its values are
 * appended. Written out for each kind of owner, so that Postgres sees which index serves it.
 */
export function owned(scope: FileScope, values: unknown[]): string {
  return `(file.bot_id = $${values.push(scope.botId)} AND ${own(scope, values)})`;
}

/** SQL that holds for files that readers may still see. */
export const notExpired = '(file.expires_at IS NULL OR file.expires_at > now())';

/** Whether the scope may read every file of its bot. */
export function readsAll({ owner }: FileScope): boolean {
  return owner === 'bot';
}

/** SQL that holds for files that the scope may read; those that have expired are gone for everybody. Its values are appended. */
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

/** What lets others than the owner read. */
const policies: Record<OwnerType, AccessPolicy | undefined> = {
  bot: undefined,
  integration: 'integrations',
  user: 'public_content',
};

/** The same as `owned`, of a row that is at hand. */
export function owns(scope: FileScope, row: { owner_type: OwnerType; owner_id: string | null; namespace: string }) {
  if (scope.owner === 'bot') return true;
  if (row.owner_type !== scope.owner) return false;
  return scope.owner === 'user' ? row.owner_id === scope.ownerId : row.namespace === scope.namespace;
}
