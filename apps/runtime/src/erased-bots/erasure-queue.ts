import { queue } from '@parley/work-queue/queue';

/** Deleted bots, by id, until the second look at their rows. */
export const eraseBots = queue('runtime.erasure', { repeated: 'again' });
