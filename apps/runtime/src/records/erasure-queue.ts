import { queue } from '@parley/work-queue/queue';

/** Deleted bots, by id, until the second look at their rows. */
export const eraseBots = queue('runtime.erasure', { repeated: 'again' });

/** SQL condition on a column with the id of a bot: the bot is not being erased. Primary key of `work`. */
export function isNotErased(column: string): string {
  return `NOT EXISTS (SELECT FROM work WHERE queue = '${eraseBots.name}' AND key = ${column})`;
}
