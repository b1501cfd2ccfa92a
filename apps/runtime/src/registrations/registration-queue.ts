import { queue } from '@parley/work-queue/queue';

/** Bots that were deployed, by id. A deployment during a registration registers once more. */
export const registrations = queue('runtime.registrations', { repeated: 'again' });
