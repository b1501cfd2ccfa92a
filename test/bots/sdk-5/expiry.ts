import { Bot } from 'botpress-sdk-5';
import { recorded } from '../effects';

const bot = new Bot({ actions: {}, plugins: {} });

bot.on.message('*', async ({ client, event, message }) => {
  const { conversationId } = message;
  const text = String(message.payload.text);
  await recorded({ eventId: event.id, type: event.type, conversationId, text }, async () => {
    const [, ms] = /^remember (\d+)$/.exec(text) ?? [];
    const reminder = { type: 'conversation', id: conversationId, name: 'reminder', payload: { text } } as const;
    if (ms) await client.setState({ ...reminder, expiry: Number(ms) });
  });
});

bot.on.stateExpired('reminder', async ({ client, ctx, state: { name, conversationId, payload } }) => {
  const text = `expired: ${String(payload.text)}`;
  await recorded({ type: `state_expired ${name}`, conversationId, text }, async () => {
    if (!conversationId) return;
    await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload: { text } });
  });
});

export default bot;
