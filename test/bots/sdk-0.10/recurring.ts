import { Bot, z } from '@botpress/sdk';
import { recorded } from '../effects';

const bot = new Bot({
  events: { tick: { schema: z.object({ fails: z.boolean() }) } },
  recurringEvents: { ticks: { type: 'tick', payload: { fails: false }, schedule: { cron: '* * * * *' } } },
});

bot.event(async ({ event: { id, type, payload } }) =>
  recorded({ eventId: id, type, text: JSON.stringify(payload) }, async () => {
    if (payload.fails) throw new Error('boom');
  }),
);

export default bot;
