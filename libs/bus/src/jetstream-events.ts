import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { type JsMsg, type JetStreamClient, type JetStreamManager, headers, type MsgHdrs } from 'nats';
import { Loop } from '@parley/background/loop';
import type { Logger } from '@parley/logging/logger';
import {
  ackWaitMs,
  type WorkingConsumer,
  type EventMessage,
  type EventStream,
  heartbeatMs,
  messageIdOf,
  redeliveryDelayMs,
  type StreamPlace,
} from './event-stream';
import { isMissing, type NatsLink } from './nats-connection';
import { eventPlace, eventStream, pullRequest, repeatPlace } from './places';
import { Puller } from './puller';
import { type Durable, durableConfig, durablesOf, eventStreamConfig, unlessGone } from './streams';

const messageIdHeader = 'Nats-Msg-Id';
const eventIdHeader = 'parley-event-id';
const traceHeader = 'traceparent';
const publishTimeoutMs = 5_000;
/** What is kept of garbage: in JSON six bytes each at most, so that it can be announced again like any event. */
const keptCharacters = 32_000;
/** Pause between noticing that a stream or a consumer was deleted and making it again: the server may still be at it. */
const settleMs = 1_000;
/** How long an event waits for a process that no longer says that it works on it, and how often a process says so. */
export interface DeliveryTiming {
  ackWaitMs: number;
  heartbeatMs: number;
  /**
   * Longest wait of one pull; also how soon a consumer that was deleted is noticed. No delay of a redelivery is a multiple of
   * it: NATS 2.9 forgets an event that falls due in the moment in which the only pull ends, until the ack wait is over.
   */
  pullMs: number;
}

const defaultTiming: DeliveryTiming = { ackWaitMs, heartbeatMs, pullMs: 4_700 };

/** Events over JetStream. The stream and its consumers are made when they are missing, whenever that is noticed. */
export class JetStreamEvents implements EventStream {
  readonly isOpen = true;
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
    // Each slot listens to it while it waits, which Node would take for a leak from the eleventh on.
    setMaxListeners(0, this.stopping.signal);
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

  async drain(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  private startSlot(consumer: WorkingConsumer, durable: Durable): void {
    const round = this.slotOf(consumer, durable);
    const loop = new Loop({ name: durable.name, intervalMs: 1_000, logger: this.logger }, round);
    this.loops.push(loop);
    loop.start();
  }

  private async send(events: EventMessage[]): Promise<StreamPlace | undefined> {
    const places = await Promise.all(
      events.map(async (event) => {
        const messageId = messageIdOf(event);
        const { seq } = await this.client.publish(placeOf(event), JSON.stringify(event.data), {
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
  private slotOf(consumer: WorkingConsumer, durable: Durable): () => Promise<boolean> {
    const puller = new Puller(this.link, pullRequest(durable.name), this.timing.pullMs);
    let isThere = true;
    return async () => {
      if (!this.link.isUp) return false;
      if (!isThere) await this.link.whileUp(() => this.ensureDurable(durable));
      isThere = true;
      try {
        const message = await puller.next(this.stopping.signal);
        if (message) await this.work(consumer, message);
      } catch (error) {
        if (!isMissing(error)) throw error;
        this.logger.warn({ err: error, consumer: durable.name }, 'the consumer may be gone, making sure of it');
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

  /** Acknowledges the event, gives it back or buries it. When that fails too, it comes again after the ack wait. */
  private async settle(consumer: WorkingConsumer, message: JsMsg): Promise<void> {
    const { signal } = this.stopping;
    if (signal.aborted) return message.nak();
    const attempt = message.info.redeliveryCount;
    const event = readEvent(consumer, message);
    if (!event) return bury(consumer, message, garbage(consumer, message), attempt, 'The event is not JSON.');
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
    try {
      await streams.info(eventStream);
    } catch (error) {
      if (!isMissing(error)) throw error;
      // A server that still clears the folder of a stream would clear that of its successor with it.
      if (this.hasSeenStream) await sleep(settleMs);
      await streams.add(eventStreamConfig(this.replicas));
    }
    this.hasSeenStream = true;
  }

  private async ensureDurable(durable: Durable): Promise<void> {
    await this.ensureStream();
    const { consumers } = await this.manager();
    await consumers.add(eventStream, durableConfig(durable, this.timing.ackWaitMs));
  }

  /** Asks nothing by itself. */
  private manager(): Promise<JetStreamManager> {
    return this.client.jetstreamManager(false);
  }
}

async function bury(
  consumer: WorkingConsumer,
  message: JsMsg,
  event: EventMessage,
  attempts: number,
  reason: string,
): Promise<void> {
  await consumer.bury(event, attempts, reason);
  message.term();
}

function placeOf({ subject, again }: EventMessage): string {
  return again ? repeatPlace(again.consumer) : eventPlace(subject);
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
    const id = message.headers?.get(eventIdHeader) || message.headers?.get(messageIdHeader) || place(message);
    const traceparent = message.headers?.get(traceHeader) || undefined;
    return { id, subject, data: message.json(), traceparent };
  } catch {
    // Not one of ours.
    return undefined;
  }
}

function garbage({ subject }: WorkingConsumer, message: JsMsg): EventMessage {
  return { id: place(message), subject, data: cut(message.string()) };
}

function cut(text: string): string {
  if (text.length <= keptCharacters) return text;
  return `${text.slice(0, keptCharacters)}… [cut: the first ${keptCharacters} of ${text.length} characters]`;
}

/** Names a message that has no id, also after the stream was made anew and counts from 1 again. */
function place({ info }: JsMsg): string {
  return `${info.streamSequence}-${info.timestampNanos}`;
}
