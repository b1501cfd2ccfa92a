import type { JsMsg } from 'nats';
import type { WorkingConsumer } from './event-stream';
import { JetStreamEvents } from './jetstream-events';
import type { NatsLink } from './nats-connection';
import { silent } from './test/probe';

/** Event stream without a server, which gets one message. */
async function settle(redeliveryCount: number, handle: (stop: () => Promise<void>) => Promise<void>) {
  const link = { connection: { jetstream: () => undefined }, whileUp: (work: () => unknown) => work() };
  const events = new JetStreamEvents(link as unknown as NatsLink, 1, silent);
  const answers: unknown[] = [];
  const message = {
    info: { redeliveryCount, streamSequence: 7, timestampNanos: 1 },
    json: () => ({ index: 1 }),
    nak: (delayMs?: number) => answers.push(['nak', delayMs]),
    term: () => answers.push('term'),
    ackAck: () => answers.push('ack'),
  };
  const consumer: WorkingConsumer = {
    name: 'probe.consumer',
    subject: 'probe.happened',
    concurrency: 1,
    maxDeliveries: 3,
    handle: () => handle(() => events.drain()),
    deadLetter: async (_event, attempts, reason) => void answers.push(['dead', attempts, reason]),
  };
  await events['settle'](consumer, message as unknown as JsMsg);
  return answers;
}

it('hands an event over as often as allowed, and then gives up one that ended each process without another attempt', async () => {
  const handle = jest.fn(() => Promise.resolve());

  expect(await settle(3, handle)).toEqual(['ack']);
  expect(await settle(4, handle)).toEqual([['dead', 4, 'Every process that worked on it ended.'], 'term']);

  expect(handle).toHaveBeenCalledTimes(1);
});

it('returns an event without a pause, and never as a dead letter, when its handler fails because the process stops', async () => {
  const stopped = (stop: () => Promise<void>) => stop().then(() => Promise.reject(new Error('The process stops.')));

  expect(await settle(1, stopped)).toEqual([['nak', undefined]]);
  expect(await settle(3, stopped)).toEqual([['nak', undefined]]);
});
