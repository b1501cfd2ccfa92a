import type { BotCaller } from '@parley/contracts/access';

/**
 * What belongs to an installation is stored as the bot sees it: `alias:name`. Who acts as the installation says and sees
 * the bare name, and nothing of others.
 */
export function storedName({ integration }: Pick<BotCaller, 'integration'>, name: string): string {
  return integration?.alias === undefined ? name : `${integration.alias}:${name}`;
}

/** The name as the caller sees it; undefined for what is not the caller's. */
export function shownName({ integration }: Pick<BotCaller, 'integration'>, stored: string): string | undefined {
  if (integration?.alias === undefined) return stored;
  const prefix = `${integration.alias}:`;
  return stored.startsWith(prefix) ? stored.slice(prefix.length) : undefined;
}

/** Whose things are looked at: null sees those of the whole bot. */
export interface Scope {
  botId: string;
  alias: string | null;
}

/** SQL that holds for rows of the scope, whose two parts are `$1` and `$2`. */
export const inScope = 'bot_id = $1 AND ($2::text IS NULL OR integration_alias = $2)';

/**
 * SQL that holds when a row, which is found by its key, is of the installation; of any where `alias` is null. No index serves
 * `IS TRUE`: while Postgres has counted no row of an installation, it takes the index of those for as short a way as a key.
 */
export const isOf = (alias: string, table?: string) =>
  `(${alias}::text IS NULL OR ${table ? `${table}.` : ''}integration_alias = ${alias}) IS TRUE`;

export function scopeOf(caller: BotCaller): Scope {
  return { botId: caller.bot.id, alias: aliasOf(caller) };
}

/** Alias of the installation that the caller acts as; null for one that sees the whole bot. */
export function aliasOf({ integration }: Pick<BotCaller, 'integration'>): string | null {
  return integration?.alias ?? null;
}

export function storedNames<T>(caller: Pick<BotCaller, 'integration'>, entries: Record<string, T>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [storedName(caller, name), entry]));
}

export function shownNames<T>(caller: Pick<BotCaller, 'integration'>, entries: Record<string, T>): Record<string, T> {
  if (caller.integration?.alias === undefined) return entries;
  return Object.fromEntries(
    Object.entries(entries).flatMap(([stored, entry]) => {
      const name = shownName(caller, stored);
      return name === undefined ? [] : [[name, entry]];
    }),
  );
}
