import { Bot } from 'botpress-sdk-5';

const bot = new Bot({ actions: {}, plugins: {} });

// Streams recognise the marker of the answer, and not that of the user's message: see `toReplyText`.
bot.on.message('*', async ({ client, ctx, message: { conversationId, payload } }) => {
  const text = String((payload as { text: string }).text).replaceAll('#', '@');
  await client.createMessage({ conversationId, userId: ctx.botId, tags: {}, type: 'text', payload: { text } });
});

export default bot;
