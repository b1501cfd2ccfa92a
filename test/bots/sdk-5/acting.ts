import { Bot } from 'botpress-sdk-5';
import { recorded } from '../effects';

const bot = new Bot({
  actions: {
    add: ({ input }) => {
      const { a, b } = input as { a: number; b: number };
      return Promise.resolve({ sum: a + b });
    },
  },
  plugins: {},
});

bot.on.message('*', async ({ client, ctx, event, message }) => {
  const { conversationId } = message;
  const text = String(message.payload.text);
  await recorded({ eventId: event.id, type: event.type, conversationId, text }, async () => {
    const [a, b] = text.split(' ').map(Number);
    const { output } = await client.callAction({ type: 'add', input: { a, b } });
    const payload = { text: `sum: ${output['sum']}` };
    await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload });
  });
});

export default bot;
