import { Bot } from '@botpress/sdk';
// Created by `bp add chat@1.0.0`.
import { Chat } from '../.botpress/installations/chat';

const bot = new Bot({ integrations: { chat: new Chat({ enabled: true, config: {} }) } });

bot.message(async ({ message, client, ctx }) => {
  await client.createMessage({
    conversationId: message.conversationId,
    userId: ctx.botId,
    type: 'text',
    payload: { text: `You said: ${message.payload.text}` },
    tags: {},
  });
});

export default bot;
