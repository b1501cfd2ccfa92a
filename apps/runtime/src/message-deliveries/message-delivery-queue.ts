import type { ChangeOperation, OutgoingMessage } from '@parley/contracts/chat/outgoing-messages';
import { type NewWork, queue } from '@parley/work-queue/queue';

export interface MessageDeliveryPayload {
  botId: string;
  /** Id of the message or change. */
  id: string;
  conversationId: string;
  isOwn?: boolean;
  change?: ChangeOperation;
}

/** Messages of bots and changes for integrations, one after the other in each conversation. */
export const messageDeliveries = queue<MessageDeliveryPayload>('runtime.messageDeliveries', { isOrdered: true });

export const messageDeliveryKey = (botId: string, id: string) => `${botId}/${id}`;

export function toMessageDelivery(botId: string, message: OutgoingMessage): NewWork<MessageDeliveryPayload> {
  return {
    key: messageDeliveryKey(botId, message.id),
    tenant: botId,
    payload: { botId, ...message },
    orderingKey: `${botId}/${message.conversationId}`,
  };
}
