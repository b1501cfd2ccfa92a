import { Bot } from 'botpress-sdk-5';
import { recorded } from '../effects';

const bot = new Bot({ actions: {}, plugins: {} });

bot.on.event('tick', ({ event: { id, type, payload } }) =>
  recorded({ eventId: id, type, text: JSON.stringify(payload) }, async () => {
    if (payload.fails) throw new Error('boom');
  }),
);

export default bot;
