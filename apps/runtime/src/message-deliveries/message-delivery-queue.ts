import type { OutgoingMessage } from '@parley/contracts/chat/outgoing-messages';
import { type NewWork, queue } from '@parley/work-queue/queue';

export interface MessageDeliveryPayload {
  botId: string;
  messageId: string;
  conversationId: string;
  isOwn?: boolean;
}

/** Messages of bots for integrations, one after the other in each conversation. */
export const messageDeliveries = queue<MessageDeliveryPayload>('runtime.messageDeliveries', { isOrdered: true });

export const messageDeliveryKey = (botId: string, messageId: string) => `${botId}/${messageId}`;

export function toMessageDelivery(
  botId: string,
  { id: messageId, conversationId, isOwn }: OutgoingMessage,
): NewWork<MessageDeliveryPayload> {
  return {
    key: messageDeliveryKey(botId, messageId),
    tenant: botId,
    payload: { botId, messageId, conversationId, isOwn },
    orderingKey: `${botId}/${conversationId}`,
  };
}
