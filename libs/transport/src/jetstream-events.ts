import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type JsMsg, type JetStreamClient, type JetStreamManager, headers, type MsgHdrs } from 'nats';
import { PollingWorker } from '@parley/background/polling-worker';
import { retryBackoffMs } from '@parley/background/retry-backoff';
import type { Consumer } from '@parley/contracts/operation';
import type { Logger } from '@parley/logging/logger';
import {
  ackWaitMs,
  type WorkingConsumer,
  type EventMessage,
  type EventStream,
  heartbeatMs,
  messageIdOf,
  type StreamPosition,
} from './event-stream';
import { isMissing, type NatsLink } from './nats-connection';
import { durableName, eventSubject, eventStream, pullRequest, repeatSubject } from './subjects';
import { PullConsumer } from './pull-consumer';
import { type Durable, durableConfig, durablesOf, eventStreamConfig, putDurable, unlessGone } from './streams';

const messageIdHeader = 'Nats-Msg-Id';
const eventIdHeader = 'parley-event-id';
const traceHeader = 'traceparent';
const publishTimeoutMs = 5_000;
/** Limit for stored garbage, in characters: each takes at most six bytes in JSON, so the event still fits the outbox. */
const keptCharacters = 32_000;
/** Pause after a stream or consumer was found missing: the server may still be deleting it. */
const settleMs = 1_000;
/** Pause between two looks for a process that consumes. */
const lookMs = 250;

export interface DeliveryTiming {
  ackWaitMs: number;
  heartbeatMs: number;
  /**
   * Longest wait of one pull, and so the delay until a deleted consumer is noticed. Must divide no redelivery delay:
   * NATS 2.9 loses an event that falls due at the moment when the only pull ends, until the ack wait is over.
   */
  pullMs: number;
}

const defaultTiming: DeliveryTiming = { ackWaitMs, heartbeatMs, pullMs: 4_700 };

/** Event stream over JetStream. Creates the stream and its consumers whenever they are found missing. */
export class JetStreamEvents implements EventStream {
  readonly isOpen = true;
  readonly canLose = true;
  private readonly client: JetStreamClient;
  private readonly stopping = new AbortController();
  private loops: PollingWorker[] = [];
  private hasSeenStream = false;

  constructor(
    private readonly link: NatsLink,
    private readonly replicas: number,
    private readonly logger: Logger,
    private readonly timing = defaultTiming,
  ) {
    this.client = link.connection.jetstream({ timeout: publishTimeoutMs });
    // Every slot listens to this signal while it waits; Node warns of a leak from the eleventh listener on.
    setMaxListeners(0, this.stopping.signal);
  }

  publish(events: EventMessage[]): Promise<StreamPosition | undefined> {
    return this.link.whileUp(async () => {
      try {
        return await this.send(events);
      } catch (error) {
        if (!isMissing(error)) throw error;
        await this.ensureStream();
        return this.send(events);
      }
    });
  }

  keeps({ sequence, messageId }: StreamPosition): Promise<boolean> {
    return this.link.whileUp(async () => {
      const { streams } = await this.manager();
      const message = await unlessGone(streams.getMessage(eventStream, { seq: sequence }));
      if (message) return message.header.get(messageIdHeader) === messageId;
      const info = await unlessGone(streams.info(eventStream));
      return info !== undefined && sequence < info.state.first_seq;
    });
  }

  async consume(consumer: WorkingConsumer): Promise<void> {
    const { events, repeats } = durablesOf(consumer.name, consumer.subject);
    await this.ensureDurable(events);
    await this.ensureDurable(repeats);
    for (let slot = 0; slot < consumer.concurrency; slot += 1) this.startSlot(consumer, events);
    this.startSlot(consumer, repeats);
  }

  /** Looks for as long as one pull takes: between two pulls, a process does not wait. */
  async isConsumed({ name }: Pick<Consumer, 'name'>): Promise<boolean> {
    const { consumers } = await this.manager();
    const look = () => unlessGone(consumers.info(eventStream, durableName(name)));
    for (const deadline = performance.now() + this.timing.pullMs; ; await sleep(lookMs)) {
      const found = await this.link.whileUp(look);
      if (found && found.num_waiting + found.num_ack_pending > 0) return true;
      if (performance.now() > deadline) return false;
    }
  }

  async drain(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  private startSlot(consumer: WorkingConsumer, durable: Durable): void {
    const round = this.slotOf(consumer, durable);
    const loop = new PollingWorker({ name: durable.name, intervalMs: 1_000, logger: this.logger }, round);
    this.loops.push(loop);
    loop.start();
  }

  private async send(events: EventMessage[]): Promise<StreamPosition | undefined> {
    const positions = await Promise.all(
      events.map(async (event) => {
        const messageId = messageIdOf(event);
        const { seq } = await this.client.publish(subjectOf(event), JSON.stringify(event.data), {
          msgID: messageId,
          headers: headersOf(event),
          timeout: publishTimeoutMs,
        });
        return { sequence: seq, messageId };
      }),
    );
    return positions.reduce<StreamPosition | undefined>(
      (last, position) => (last && last.sequence > position.sequence ? last : position),
      undefined,
    );
  }

  /** One round pulls one event and handles it. Resolves to true when there may be more. */
  private slotOf(consumer: WorkingConsumer, durable: Durable): () => Promise<boolean> {
    const pullConsumer = new PullConsumer(this.link, pullRequest(durable.name), this.timing.pullMs);
    let isThere = true;
    // The server may have come back without its data, and sends no answer to pulls of a consumer that does not exist.
    this.link.onReconnected(() => (isThere = false));
    return async () => {
      if (!this.link.isUp) return false;
      if (!isThere) await this.link.whileUp(() => this.ensureDurable(durable));
      isThere = true;
      try {
        const message = await pullConsumer.next(this.stopping.signal);
        if (message) await this.work(consumer, message);
      } catch (error) {
        if (!isMissing(error)) throw error;
        this.logger.warn({ err: error, consumer: durable.name }, 'consumer may be missing, creating it if necessary');
        isThere = false;
        await sleep(settleMs);
      }
      return true;
    };
  }

  private async work(consumer: WorkingConsumer, message: JsMsg): Promise<void> {
    const heartbeat = setInterval(() => this.link.isUp && message.working(), this.timing.heartbeatMs);
    try {
      await this.settle(consumer, message);
    } finally {
      clearInterval(heartbeat);
    }
  }

  /** Acknowledges the event, gives it back or stores a dead letter. If that fails, the ack wait redelivers it. */
  private async settle(consumer: WorkingConsumer, message: JsMsg): Promise<void> {
    const { signal } = this.stopping;
    if (signal.aborted) return message.nak();
    const attempt = message.info.redeliveryCount;
    const event = readEvent(consumer, message);
    if (!event)
      return deadLetter(consumer, message, garbage(consumer, message), attempt, 'The event is not valid JSON.');
    if (attempt > consumer.maxDeliveries) {
      return deadLetter(consumer, message, event, attempt, 'Every process that worked on it ended.');
    }
    try {
      await consumer.handle({ event, attempt, signal });
    } catch (error) {
      if (signal.aborted) return message.nak();
      if (attempt < consumer.maxDeliveries) return message.nak(retryBackoffMs(attempt));
      return deadLetter(consumer, message, event, attempt, error instanceof Error ? error.message : String(error));
    }
    // Outside the try: a lost acknowledgement must not give finished work back.
    await this.link.whileUp(() => message.ackAck());
  }

  private async ensureStream(): Promise<void> {
    const { streams } = await this.manager();
    try {
      await streams.info(eventStream);
    } catch (error) {
      if (!isMissing(error)) throw error;
      // A server that is still deleting the folder of the old stream would delete the new one with it.
      if (this.hasSeenStream) await sleep(settleMs);
      await streams.add(eventStreamConfig(this.replicas));
    }
    this.hasSeenStream = true;
  }

  private async ensureDurable(durable: Durable): Promise<void> {
    await this.ensureStream();
    const damage = await putDurable(await this.manager(), durableConfig(durable, this.timing.ackWaitMs));
    if (!damage) return;
    this.logger.warn(
      { err: damage, consumer: durable.name },
      'consumer of NATS was damaged and has been replaced: all stored events are delivered again, and those already handled are dropped',
    );
  }

  /** Sends no request (`checkAPI` is false). */
  private manager(): Promise<JetStreamManager> {
    return this.client.jetstreamManager(false);
  }
}

async function deadLetter(
  consumer: WorkingConsumer,
  message: JsMsg,
  event: EventMessage,
  attempts: number,
  reason: string,
): Promise<void> {
  await consumer.deadLetter(event, attempts, reason);
  message.term();
}

function subjectOf({ subject, again }: EventMessage): string {
  return again ? repeatSubject(again.consumer) : eventSubject(subject);
}

function headersOf({ id, again, traceparent }: EventMessage): MsgHdrs | undefined {
  if (!again && !traceparent) return undefined;
  const own = headers();
  if (traceparent) own.set(traceHeader, traceparent);
  if (!again) return own;
  own.set(eventIdHeader, id);
  return own;
}

function readEvent({ subject }: WorkingConsumer, message: JsMsg): EventMessage | undefined {
  try {
    const id = message.headers?.get(eventIdHeader) || message.headers?.get(messageIdHeader) || fallbackId(message);
    const traceparent = message.headers?.get(traceHeader) || undefined;
    return { id, subject, data: message.json(), traceparent };
  } catch {
    // Garbage that no outbox has published.
    return undefined;
  }
}

function garbage({ subject }: WorkingConsumer, message: JsMsg): EventMessage {
  return { id: fallbackId(message), subject, data: cut(message.string()) };
}

function cut(text: string): string {
  if (text.length <= keptCharacters) return text;
  return `${text.slice(0, keptCharacters)}… [truncated: first ${keptCharacters} of ${text.length} characters]`;
}

/** Fallback id of a message. Unique even after the stream was recreated and counts from 1 again. */
function fallbackId({ info }: JsMsg): string {
  return `${info.streamSequence}-${info.timestampNanos}`;
}
