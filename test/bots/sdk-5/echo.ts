import { setTimeout as sleep } from 'node:timers/promises';
import { Bot } from 'botpress-sdk-5';
import { recorded } from '../effects';

const bot = new Bot({ actions: {}, plugins: {} });

bot.on.message('*', async ({ client, ctx, event, message }) => {
  const { conversationId } = message;
  const text = String(message.payload.text);
  await recorded({ eventId: event.id, type: event.type, conversationId, text }, async () => {
    await sleep(Number(process.env['BOT_DELAY_MS'] ?? 0));
    if (process.env['BOT_IS_SILENT'] === 'true') return;
    const payload = { text: `echo: ${text}` };
    await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload });
  });
});

bot.on.event('*', ({ event: { id, type, conversationId, payload } }) =>
  recorded({ eventId: id, type, conversationId, text: JSON.stringify(payload) }),
);

export default bot;
