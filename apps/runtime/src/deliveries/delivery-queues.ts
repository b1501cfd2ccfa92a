import type { PendingEvent } from '@parley/contracts/chat/deliveries';
import { type NewWork, queue } from '@parley/work-queue/queue';

export interface DeliveryPayload {
  botId: string;
  eventId: string;
  type: string;
}

/** Deliveries of events. A new announcement of an event while it is being delivered delivers it once more. */
export const deliveryQueue = queue<DeliveryPayload>('runtime.deliveries', { isOrdered: true });

/** Second look at the parked deliveries of a bot that changed. */
export const wakes = queue('runtime.wakes', { repeated: 'again' });

export const deliveryKey = (botId: string, eventId: string) => `${botId}/${eventId}`;

/** Parked deliveries of a bot wait for its change. */
export const changeOf = (botId: string) => `bot:${botId}`;

/** Deliveries to code that no runner had a place for. */
export const freeRunner = 'runner';

/**
 * Events of one workflow are delivered one after the other; otherwise those of one conversation, or of one user. Other
 * events wait for none.
 */
export function toDelivery(botId: string, event: PendingEvent): NewWork<DeliveryPayload> {
  const { id, type, workflowId, conversationId, userId } = event;
  const parent = workflowId ?? conversationId ?? userId;
  return {
    key: deliveryKey(botId, id),
    tenant: botId,
    payload: { botId, eventId: id, type },
    orderingKey: parent && `${botId}/${parent}`,
  };
}
