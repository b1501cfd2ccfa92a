import { createHmac, timingSafeEqual } from 'node:crypto';
import { RuntimeError, z } from '@botpress/sdk';
import * as bp from '../.botpress';

type Configuration = bp.configuration.Configuration;

/** What the service sends to the webhook. */
const incoming = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('message'),
    id: z.string(),
    conversation: z.string(),
    user: z.string(),
    text: z.string(),
  }),
  z.object({ type: z.literal('left'), user: z.string() }),
]);

const signatureOf = (body: string, secret: string) => createHmac('sha256', secret).update(body).digest('hex');

function isSigned(body: string, given: string | undefined, { secret }: Configuration): boolean {
  const expected = Buffer.from(signatureOf(body, secret));
  const signature = Buffer.from(given ?? '');
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}

/** Posts signed JSON to the service, and returns its answer. */
async function post(configuration: Configuration, path: string, content: object): Promise<Record<string, unknown>> {
  const body = JSON.stringify(content);
  const response = await fetch(new URL(path, configuration.serviceUrl), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-signature': signatureOf(body, configuration.secret) },
    body,
  });
  if (!response.ok) throw new RuntimeError(`The service answered ${response.status}.`);
  return (await response.json()) as Record<string, unknown>;
}

export default new bp.Integration({
  register: async ({ ctx, webhookUrl }) => {
    await post(ctx.configuration, 'connect', { webhookUrl });
  },
  unregister: async ({ ctx }) => {
    await post(ctx.configuration, 'disconnect', {});
  },
  actions: {
    count: async ({ ctx, input }) => {
      const { messages } = await post(ctx.configuration, 'count', input);
      return { messages: Number(messages) };
    },
  },
  channels: {
    channel: {
      messages: {
        text: async ({ ctx, payload, conversation, ack }) => {
          const conversationId = conversation.tags.id;
          const { id } = await post(ctx.configuration, 'messages', {
            conversation: conversationId,
            text: payload.text,
          });
          await ack({ tags: { id: String(id) } });
        },
      },
    },
  },
  handler: async ({ req, ctx, client, logger }) => {
    const body = req.body ?? '';
    if (!isSigned(body, req.headers['x-signature'], ctx.configuration)) {
      logger.forBot().warn('A request with a wrong signature was refused.');
      return { status: 401, body: JSON.stringify({ error: 'The signature is wrong.' }) };
    }
    const content = incoming.parse(JSON.parse(body));
    const { user } = await client.getOrCreateUser({ tags: { id: content.user } });
    if (content.type === 'left') {
      await client.createEvent({ type: 'left', payload: { userId: user.id } });
      return { status: 200, body: JSON.stringify({ left: true }) };
    }
    const { conversation } = await client.getOrCreateConversation({
      channel: 'channel',
      tags: { id: content.conversation },
    });
    // The service may send a message again: its id says so.
    await client.getOrCreateMessage({
      conversationId: conversation.id,
      userId: user.id,
      type: 'text',
      payload: { text: content.text },
      tags: { id: content.id },
    });
    return { status: 200, body: JSON.stringify({ accepted: true }) };
  },
});
