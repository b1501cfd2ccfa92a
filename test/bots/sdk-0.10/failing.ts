import { Bot, RuntimeError } from '@botpress/sdk';
import { recorded } from '../effects';
import { failAs } from '../failures';

const bot = new Bot({});

bot.message(async ({ client, ctx, event, message }) => {
  const { conversationId } = message;
  const text = String(message.payload.text);
  await recorded({ eventId: event.id, type: event.type, conversationId, text }, async () => {
    await failAs(text, event.id, RuntimeError);
    const payload = { text: `answer: ${text}` };
    await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload });
  });
});

export default bot;
