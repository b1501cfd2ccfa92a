import { AckPolicy, DeliverPolicy, type JsMsg, type JetStreamClient, type JetStreamManager, NatsError, nanos, RetentionPolicy, StorageType } from 'nats';
import { Loop } from '@parley/background/loop';
import type { Logger } from '@parley/logging/logger';
import { ackWaitMs, type Consumer, type EventMessage, type EventStream, heartbeatMs, redeliveryDelayMs, type StreamPosition } from './event-stream';
import type { NatsLink } from './nats-connection';
import { InFlight } from './transport';

const stream = 'PARLEY';
const prefix = 'events.';
/** Published outbox rows are kept as long, so that a stream which was lost can be filled again. */
export const retentionHours = 72;
const retention = nanos(retentionHours * 3_600_000);
const publishTimeoutMs = 5_000;
const pullMs = 5_000;

/** Events over JetStream. The stream and its consumers are made when they are missing, whenever that is noticed. */
export class JetStreamEvents implements EventStream {
  private readonly client: JetStreamClient;
  private readonly stopping = new AbortController();
  private readonly inFlight = new InFlight();
  private loops: Loop[] = [];
  private manager?: Promise<JetStreamManager>;

  constructor(
    private readonly link: NatsLink,
    private readonly replicas: number,
    private readonly logger: Logger,
  ) {
    this.client = link.connection.jetstream({ timeout: publishTimeoutMs });
  }

  async publish(events: EventMessage[]): Promise<void> {
    this.checkLink();
    try {
      await this.send(events);
    } catch (error) {
      if (!isMissing(error)) throw error;
      await this.ensureStream();
      await this.send(events);
    }
  }

  async position(): Promise<StreamPosition> {
    this.checkLink();
    await this.ensureStream();
    const { created, state } = await (await this.jsm()).streams.info(stream);
    return { createdAt: created, lastSequence: state.last_seq };
  }

  async consume(consumer: Consumer): Promise<void> {
    await this.ensureConsumer(consumer);
    for (let slot = 0; slot < consumer.concurrency; slot += 1) {
      const loop = new Loop({ name: consumer.name, intervalMs: 1_000, logger: this.logger }, () => this.pull(consumer));
      this.loops.push(loop);
      loop.start();
    }
  }

  async drain(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  private async send(events: EventMessage[]): Promise<void> {
    await Promise.all(
      events.map(({ id, subject, data }) =>
        this.client.publish(`${prefix}${subject}`, JSON.stringify(data), { msgID: id, timeout: publishTimeoutMs }),
      ),
    );
  }

  /** Waits a while for one event and works on it. Says true when there may be another. */
  private async pull(consumer: Consumer): Promise<boolean> {
    if (!this.link.isUp) return false;
    let message: JsMsg | null;
    try {
      message = await this.next(consumer);
    } catch (error) {
      if (!isMissing(error)) throw error;
      this.logger.warn({ consumer: consumer.name }, 'the consumer or its stream is gone, making it again');
      await this.ensureConsumer(consumer);
      return true;
    }
    if (!message) {
      // A consumer that was deleted during the wait looks like one without events.
      if (!this.stopping.signal.aborted) await this.ensureConsumer(consumer);
      return true;
    }
    await this.inFlight.track(() => this.work(consumer, message));
    return true;
  }

  private async next(consumer: Consumer): Promise<JsMsg | null> {
    const source = await this.client.consumers.get(stream, durableName(consumer.name));
    const pulled = source.next({ expires: pullMs });
    const stopped = new Promise<null>((resolve) => {
      if (this.stopping.signal.aborted) resolve(null);
      this.stopping.signal.addEventListener('abort', () => resolve(null), { once: true });
    });
    const message = await Promise.race([pulled, stopped]);
    // What still arrives for a process that stops goes back at once.
    if (!message) pulled.then((late) => late?.nak(), (error: unknown) => this.logger.debug({ err: error }, 'a pull ended'));
    return message;
  }

  private async work(consumer: Consumer, message: JsMsg): Promise<void> {
    const attempt = message.info.redeliveryCount;
    const event = readEvent(message);
    if (!event) {
      await consumer.bury({ id: String(message.seq), subject: consumer.subject, data: message.string() }, attempt, 'The event is not JSON.');
      message.term();
      return;
    }
    const heartbeat = setInterval(() => message.working(), heartbeatMs);
    try {
      if (attempt > consumer.maxDeliveries) {
        await consumer.bury(event, attempt, 'The process that worked on it ended every time.');
        message.term();
        return;
      }
      await consumer.handle({ event, attempt, signal: this.stopping.signal });
      await message.ackAck();
    } catch (error) {
      await this.giveBack(consumer, message, event, attempt, error);
    } finally {
      clearInterval(heartbeat);
    }
  }

  private async giveBack(consumer: Consumer, message: JsMsg, event: EventMessage, attempt: number, error: unknown): Promise<void> {
    if (this.stopping.signal.aborted) return message.nak();
    if (attempt < consumer.maxDeliveries) return message.nak(redeliveryDelayMs(attempt));
    await consumer.bury(event, attempt, error instanceof Error ? error.message : String(error));
    message.term();
  }

  private async ensureStream(): Promise<void> {
    const { streams } = await this.jsm();
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
      await streams.add(config);
    }
  }

  private async ensureConsumer(consumer: Consumer): Promise<void> {
    await this.ensureStream();
    const { consumers } = await this.jsm();
    await consumers.add(stream, {
      durable_name: durableName(consumer.name),
      filter_subject: `${prefix}${consumer.subject}`,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: nanos(ackWaitMs),
      max_ack_pending: 1000,
      // Deliveries are bounded by ourselves: JetStream would only stop, and the event would be forgotten.
      max_deliver: -1,
    });
  }

  private checkLink(): void {
    if (!this.link.isUp) throw new Error('NATS is not connected.');
  }

  private jsm(): Promise<JetStreamManager> {
    this.manager ??= this.link.connection.jetstreamManager().catch((error: unknown) => {
      this.manager = undefined;
      throw error;
    });
    return this.manager;
  }
}

function readEvent(message: JsMsg): EventMessage | undefined {
  try {
    const id = message.headers?.get('Nats-Msg-Id') || String(message.seq);
    return { id, subject: message.subject.slice(prefix.length), data: message.json() };
  } catch {
    return undefined;
  }
}

/** A durable name may hold no dot. */
function durableName(name: string): string {
  return name.replaceAll('.', '-');
}

/** The stream or the consumer does not exist (404), or nobody serves it (503). */
function isMissing(error: unknown): boolean {
  if (!(error instanceof NatsError)) return false;
  return error.code === '503' || error.code === '404' || error.api_error?.code === 404 || /not found|deleted/i.test(error.message);
}
