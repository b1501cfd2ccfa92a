import { setTimeout as sleep } from 'node:timers/promises';
import {
  AckPolicy,
  DeliverPolicy,
  type JsMsg,
  type JetStreamClient,
  type JetStreamManager,
  headers,
  type MsgHdrs,
  nanos,
  NatsError,
  RetentionPolicy,
  StorageType,
} from 'nats';
import { Loop } from '@parley/background/loop';
import type { Logger } from '@parley/logging/logger';
import {
  ackWaitMs,
  type Consumer,
  type EventMessage,
  type EventStream,
  heartbeatMs,
  messageIdOf,
  redeliveryDelayMs,
  retentionHours,
  type StreamPlace,
} from './event-stream';
import { isMissing, type NatsLink } from './nats-connection';
import { Puller } from './puller';

const stream = 'PARLEY';
const prefix = 'events.';
const messageIdHeader = 'Nats-Msg-Id';
const eventIdHeader = 'parley-event-id';
const consumerHeader = 'parley-consumer';
const retention = nanos(retentionHours * 3_600_000);
const publishTimeoutMs = 5_000;
/** Pause between noticing that a stream or a consumer was deleted and making it again: the server may still be at it. */
const settleMs = 1_000;
/** How long an event waits for a process that no longer says that it works on it, and how often a process says so. */
export interface DeliveryTiming {
  ackWaitMs: number;
  heartbeatMs: number;
  /** Longest wait of one pull; also how soon a consumer that was deleted is noticed. */
  pullMs: number;
}

const defaultTiming: DeliveryTiming = { ackWaitMs, heartbeatMs, pullMs: 5_000 };

/** Events over JetStream. The stream and its consumers are made when they are missing, whenever that is noticed. */
export class JetStreamEvents implements EventStream {
  private readonly client: JetStreamClient;
  private readonly stopping = new AbortController();
  private loops: Loop[] = [];
  private hasSeenStream = false;

  constructor(
    private readonly link: NatsLink,
    private readonly replicas: number,
    private readonly logger: Logger,
    private readonly timing = defaultTiming,
  ) {
    this.client = link.connection.jetstream({ timeout: publishTimeoutMs });
  }

  publish(events: EventMessage[]): Promise<StreamPlace | undefined> {
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

  keeps({ sequence, messageId }: StreamPlace): Promise<boolean> {
    return this.link.whileUp(async () => {
      const { streams } = await this.manager();
      const message = await unlessGone(streams.getMessage(stream, { seq: sequence }));
      if (message) return message.header.get(messageIdHeader) === messageId;
      const info = await unlessGone(streams.info(stream));
      return info !== undefined && sequence < info.state.first_seq;
    });
  }

  async consume(consumer: Consumer): Promise<void> {
    await this.ensureConsumer(consumer);
    for (let slot = 0; slot < consumer.concurrency; slot += 1) {
      const round = this.slotOf(consumer);
      const loop = new Loop({ name: consumer.name, intervalMs: 1_000, logger: this.logger }, round);
      this.loops.push(loop);
      loop.start();
    }
  }

  async drain(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  private async send(events: EventMessage[]): Promise<StreamPlace | undefined> {
    const places = await Promise.all(
      events.map(async (event) => {
        const messageId = messageIdOf(event);
        const { seq } = await this.client.publish(`${prefix}${event.subject}`, JSON.stringify(event.data), {
          msgID: messageId,
          headers: headersOf(event),
          timeout: publishTimeoutMs,
        });
        return { sequence: seq, messageId };
      }),
    );
    return places.reduce<StreamPlace | undefined>(
      (last, place) => (last && last.sequence > place.sequence ? last : place),
      undefined,
    );
  }

  /** A round waits a while for one event and works on it. It says true when there may be another. */
  private slotOf(consumer: Consumer): () => Promise<boolean> {
    const puller = new Puller(this.link, pullSubject(consumer), this.timing.pullMs);
    let isThere = true;
    return async () => {
      if (!this.link.isUp) return false;
      if (!isThere) await this.link.whileUp(() => this.ensureConsumer(consumer));
      isThere = true;
      try {
        const message = await puller.next(this.stopping.signal);
        if (message) await this.work(consumer, message);
      } catch (error) {
        if (!isMissing(error)) throw error;
        this.logger.warn({ err: error, consumer: consumer.name }, 'the consumer may be gone, making sure of it');
        isThere = false;
        await sleep(settleMs);
      }
      return true;
    };
  }

  private async work(consumer: Consumer, message: JsMsg): Promise<void> {
    const heartbeat = setInterval(() => this.link.isUp && message.working(), this.timing.heartbeatMs);
    try {
      await this.settle(consumer, message);
    } finally {
      clearInterval(heartbeat);
    }
  }

  /** Acknowledges the event, gives it back or buries it. When that fails too, it comes again after the ack wait. */
  private async settle(consumer: Consumer, message: JsMsg): Promise<void> {
    const { signal } = this.stopping;
    if (signal.aborted) return message.nak();
    const addressee = message.headers?.get(consumerHeader);
    if (addressee && addressee !== consumer.name) return message.ack();
    const attempt = message.info.redeliveryCount;
    const event = readEvent(message);
    if (!event) return bury(consumer, message, garbage(message), attempt, 'The event is not JSON.');
    if (attempt > consumer.maxDeliveries) {
      return bury(consumer, message, event, attempt, 'The process that worked on it ended every time.');
    }
    try {
      await consumer.handle({ event, attempt, signal });
    } catch (error) {
      if (signal.aborted) return message.nak();
      if (attempt < consumer.maxDeliveries) return message.nak(redeliveryDelayMs(attempt));
      return bury(consumer, message, event, attempt, error instanceof Error ? error.message : String(error));
    }
    // Outside the try: work that is done is not given back because its acknowledgement got lost.
    await this.link.whileUp(() => message.ackAck());
  }

  private async ensureStream(): Promise<void> {
    const { streams } = await this.manager();
    const config = {
      name: stream,
      subjects: [`${prefix}>`],
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      max_age: retention,
      duplicate_window: nanos(2 * 60_000),
      num_replicas: this.replicas,
    };
    try {
      await streams.info(stream);
    } catch (error) {
      if (!isMissing(error)) throw error;
      // A server that still clears the folder of a stream would clear that of its successor with it.
      if (this.hasSeenStream) await sleep(settleMs);
      await streams.add(config);
    }
    this.hasSeenStream = true;
  }

  private async ensureConsumer(consumer: Consumer): Promise<void> {
    await this.ensureStream();
    const { consumers } = await this.manager();
    await consumers.add(stream, {
      durable_name: durableName(consumer.name),
      filter_subject: `${prefix}${consumer.subject}`,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(this.timing.ackWaitMs),
      max_ack_pending: 1000,
      // Deliveries are bounded by ourselves: JetStream would only stop, and the event would be forgotten.
      max_deliver: -1,
    });
  }

  /** Asks nothing by itself. */
  private manager(): Promise<JetStreamManager> {
    return this.client.jetstreamManager(false);
  }
}

/** Undefined only where the server says for sure that it does not have it. */
async function unlessGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof NatsError && error.api_error?.code === 404) return undefined;
    throw error;
  }
}

async function bury(
  consumer: Consumer,
  message: JsMsg,
  event: EventMessage,
  attempts: number,
  reason: string,
): Promise<void> {
  await consumer.bury(event, attempts, reason);
  message.term();
}

function headersOf({ id, again }: EventMessage): MsgHdrs | undefined {
  if (!again) return undefined;
  const own = headers();
  own.set(eventIdHeader, id);
  own.set(consumerHeader, again.consumer);
  return own;
}

function readEvent(message: JsMsg): EventMessage | undefined {
  try {
    const id = message.headers?.get(eventIdHeader) || message.headers?.get(messageIdHeader) || place(message);
    return { id, subject: message.subject.slice(prefix.length), data: message.json() };
  } catch {
    // Not one of ours.
    return undefined;
  }
}

function garbage(message: JsMsg): EventMessage {
  return { id: place(message), subject: message.subject.slice(prefix.length), data: message.string() };
}

/** Names a message that has no id, also after the stream was made anew and counts from 1 again. */
function place({ info }: JsMsg): string {
  return `${info.streamSequence}-${info.timestampNanos}`;
}

/** Where the server is asked for an event of the consumer. */
function pullSubject({ name }: Consumer): string {
  return `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durableName(name)}`;
}

/** A durable name may hold no dot. */
function durableName(name: string): string {
  return name.replaceAll('.', '-');
}
