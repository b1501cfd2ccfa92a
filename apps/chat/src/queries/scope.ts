import type { BotCaller } from '@parley/contracts/access';

/**
 * Names (tags, types, states) of an installation are stored as `alias:name`, which the bot sees. A caller that acts as
 * the installation uses the bare name and sees no other names.
 */
export function storedName({ integration }: Pick<BotCaller, 'integration'>, name: string): string {
  return integration?.alias === undefined ? name : `${integration.alias}:${name}`;
}

/** Name as the caller sees it; undefined if it belongs to another installation. */
export function shownName({ integration }: Pick<BotCaller, 'integration'>, stored: string): string | undefined {
  if (integration?.alias === undefined) return stored;
  const prefix = `${integration.alias}:`;
  return stored.startsWith(prefix) ? stored.slice(prefix.length) : undefined;
}

/** Rows visible to a caller: those of one installation, or of the whole bot if `alias` is null. */
export interface Scope {
  botId: string;
  alias: string | null;
}

export const inScope = 'bot_id = $1 AND ($2::text IS NULL OR integration_alias = $2)';

/**
 * SQL condition for a row found by key: it belongs to the installation, or `alias` is null. `IS TRUE` prevents the use
 * of an index on the alias: while the statistics contain no row of an installation, Postgres considers that index as
 * cheap as the primary key.
 */
export const isOf = (alias: string, table?: string) =>
  `(${alias}::text IS NULL OR ${table ? `${table}.` : ''}integration_alias = ${alias}) IS TRUE`;

export function scopeOf(caller: BotCaller): Scope {
  return { botId: caller.bot.id, alias: aliasOf(caller) };
}

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
