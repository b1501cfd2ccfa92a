import type { OutgoingMessageReply } from '@parley/contracts/chat/outgoing-messages';
import { Metrics } from '@parley/service/metrics';
import type { Platform } from '@parley/service/platform';
import { RetryLater, type Work, Yield } from '@parley/work-queue/queue';
import { CalleeUnavailable } from '../invocations/invocation';
import { RuntimeConfig } from '../config';
import type { MessageDeliveryPayload } from './message-delivery-queue';
import { MessageDeliveriesWorker } from './message-deliveries.worker';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const payload: MessageDeliveryPayload = { botId: 'bot', id: 'msg_1', conversationId: 'conv_1' };
const reply = {
  alias: 'mail',
  conversation: { id: 'conv_1', channel: 'channel' },
  message: { type: 'text', payload: { text: 'hello' } },
  user: { id: 'user_1' },
} as unknown as OutgoingMessageReply;
const target = {
  installation: { isEnabled: true, disabledChannels: [] },
  integration: { url: 'https://example.org', code: null, extraOperations: [], timeoutMs: 1_000 },
};

interface Others {
  earlier?: string[];
  /** Earlier messages without an outcome. */
  unsettled?: string[];
  /** Whether the earlier messages are announced. */
  isAnnounced?: boolean;
}

/** Worker whose integration cannot be called, and work on one message that was announced so long ago. */
function deliverAfter(ageMs: number, { earlier, unsettled = [], isAnnounced = false }: Others = {}) {
  const outcomes: unknown[] = [];
  const failures: unknown[] = [];
  const client = { call: () => Promise.resolve({ ...reply, earlier }) };
  const targets = { getByAlias: () => Promise.resolve(target) };
  const integrations = { invoke: () => Promise.reject(new CalleeUnavailable('It is away.')) };
  const deliveries = {
    findUnsettled: (_botId: string, ids: string[]) => Promise.resolve(ids[0] === payload.id ? ids : unsettled),
    storeOutcome: (_payload: unknown, outcome: unknown) => Promise.resolve(void outcomes.push(outcome)),
  };
  const worker = new MessageDeliveriesWorker(
    client as never,
    targets as never,
    integrations as never,
    deliveries as never,
    { record: (failure: unknown) => failures.push(failure) } as never,
    { has: () => Promise.resolve(isAnnounced) } as never,
    new RuntimeConfig(),
    { metrics: new Metrics() } as Platform,
  );
  const work = { payload, createdAt: new Date(Date.now() - ageMs), failures: 0, signal: new AbortController().signal };
  return { delivered: worker.deliver(work as unknown as Work<MessageDeliveryPayload>), outcomes, failures };
}

it('tries a message for 24 hours whose integration cannot be called, a minute later at most', async () => {
  const { delivered, outcomes } = deliverAfter(dayMs - minuteMs);

  await expect(delivered).rejects.toEqual(expect.any(RetryLater));
  await expect(delivered).rejects.toMatchObject({ pauseMs: minuteMs });
  expect(outcomes).toEqual([]);
});

it('gives a message up after 24 hours, with the reason and an issue', async () => {
  const { delivered, outcomes, failures } = deliverAfter(dayMs + 1);

  await delivered;

  const reason = 'The integration could not be called for 24 hours: It is away.';
  expect(outcomes).toEqual([{ status: 'failed', reason, attempts: [] }]);
  expect(failures).toHaveLength(1);
});

it.each<[what: string, ageMs: number, others: Others]>([
  ['for a minute when that is not announced yet', 0, {}],
  ['after a minute too when that is announced', minuteMs + 1_000, { isAnnounced: true }],
])('waits for an earlier message of the conversation %s', async (_what, ageMs, others) => {
  const { delivered } = deliverAfter(ageMs, { earlier: ['msg_0'], unsettled: ['msg_0'], ...others });

  await expect(delivered).rejects.toEqual(expect.any(Yield));
});

it.each<[what: string, ageMs: number, unsettled: string[]]>([
  ['is settled', 0, []],
  ['is not announced after a minute', minuteMs + 1_000, ['msg_0']],
])('does not wait for an earlier message that %s', async (_what, ageMs, unsettled) => {
  const { delivered } = deliverAfter(ageMs, { earlier: ['msg_0'], unsettled });

  await expect(delivered).rejects.toEqual(expect.any(RetryLater));
});
