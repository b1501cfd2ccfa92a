import { Bot, z } from '@botpress/sdk';
import { recorded } from '../effects';

const bot = new Bot({
  states: { reminder: { type: 'conversation', schema: z.object({ text: z.string() }) } },
});

bot.message(async ({ client, event, message }) => {
  const { conversationId } = message;
  const text = String(message.payload.text);
  await recorded({ eventId: event.id, type: event.type, conversationId, text }, async () => {
    const [, ms] = /^remember (\d+)$/.exec(text) ?? [];
    const reminder = { type: 'conversation', id: conversationId, name: 'reminder', payload: { text } } as const;
    if (ms) await client.setState({ ...reminder, expiry: Number(ms) });
  });
});

bot.stateExpired(async ({ client, ctx, state: { name, conversationId, payload } }) => {
  const text = `expired: ${String(payload.text)}`;
  await recorded({ type: `state_expired ${name}`, conversationId, text }, async () => {
    if (!conversationId) return;
    await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload: { text } });
  });
});

export default bot;
