import { RetryLater, type Work, Yield } from '@parley/work-queue/queue';
import { RuntimeConfig } from '../config';
import type { DeliveryPayload } from './delivery-queues';
import { DeliveriesWorker } from './deliveries.worker';

const minuteMs = 60_000;

interface Others {
  /** Earlier events that are not settled here. */
  unsettled?: string[];
  /** Whether their deliveries are announced. */
  isAnnounced?: boolean;
}

/** Delivery that was announced so long ago, of an event behind another one of its conversation. It has no slot, if it may begin. */
function deliverAfter(ageMs: number, { unsettled = [], isAnnounced = false }: Others): Promise<void> {
  const payload = { botId: 'bot', eventId: 'event_2' } as DeliveryPayload;
  const event = { id: 'event_2', type: 'text' };
  const worker = new DeliveriesWorker(
    { find: () => Promise.resolve({ event, earlier: ['event_1'] }) } as never,
    {} as never,
    { get: () => Promise.resolve({ botId: 'bot', workspaceId: 'workspace' }) } as never,
    {} as never,
    { findSettled: () => Promise.resolve(), findUnsettled: () => Promise.resolve(unsettled) } as never,
    {} as never,
    { msUntilAllowed: () => Promise.resolve(0) } as never,
    { acquire: () => undefined, reason: 'No slot.' } as never,
    {} as never,
    {} as never,
    { has: () => Promise.resolve(isAnnounced) } as never,
    new RuntimeConfig(),
  );
  return worker.deliver({ payload, createdAt: new Date(Date.now() - ageMs) } as unknown as Work<DeliveryPayload>);
}

it.each<[what: string, ageMs: number, others: Others]>([
  ['for a minute when that is not announced yet', 0, { unsettled: ['event_1'] }],
  ['after a minute too when that is announced', minuteMs + 1_000, { unsettled: ['event_1'], isAnnounced: true }],
])('waits for an earlier event of the conversation %s', async (_what, ageMs, others) => {
  await expect(deliverAfter(ageMs, others)).rejects.toEqual(expect.any(Yield));
});

it.each<[what: string, ageMs: number, others: Others]>([
  ['is settled', 0, {}],
  ['is not announced after a minute', minuteMs + 1_000, { unsettled: ['event_1'] }],
])('does not wait for an earlier event that %s', async (_what, ageMs, others) => {
  const delivered = deliverAfter(ageMs, others);

  await expect(delivered).rejects.toEqual(expect.any(RetryLater));
  await expect(delivered).rejects.toThrow('No slot.');
});
