import { queue } from '@parley/work-queue/queue';

/** Deleted bots, by id. */
export const eraseBots = queue('chat.eraseBots', { repeated: 'again' });

/** Deleted conversations, by id. The tenant is the bot. */
export const eraseConversations = queue('chat.eraseConversations');
