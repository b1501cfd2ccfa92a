import { Bot } from '@botpress/sdk';
// Created by `bp add default/http@1.0.0`: the name begins with the handle of the workspace.
import { DefaultHttp } from '../.botpress/installations/default-http';

const { SERVICE_URL = '', SERVICE_SECRET = '' } = process.env;

const bot = new Bot({
  integrations: {
    http: new DefaultHttp({ enabled: true, config: { serviceUrl: SERVICE_URL, secret: SERVICE_SECRET } }),
  },
});

bot.message(async ({ message, conversation, client, ctx }) => {
  const { conversationId } = message;
  const say = (text: string) =>
    client.createMessage({ conversationId, userId: ctx.botId, type: 'text', payload: { text }, tags: {} });
  await say(`You said: ${message.payload.text}`);
  if (message.payload.text !== 'How many?') return;
  const { output } = await client.callAction({
    type: `${conversation.integration}:count`,
    input: { conversationId },
  } as never);
  await say(`The service got ${(output as { messages: number }).messages} messages.`);
});

export default bot;
