import { Loop } from '@parley/background/loop';
import {
  ackWaitMs,
  type Consumer,
  type EventMessage,
  type EventStream,
  heartbeatMs,
  redeliveryDelayMs,
  type StreamPosition,
} from '@parley/bus/event-stream';
import type { Logger } from '@parley/logging/logger';
import type { DeliveriesRepository, TakenDelivery } from './deliveries.repository';

/**
 * The event stream of one process: rows in Postgres, woken in process. It must be the only one on its database.
 * Publishing waits until `open()`, when every consumer is known.
 */
export class PostgresEvents implements EventStream {
  private readonly stopping = new AbortController();
  private readonly consumers: { consumer: Consumer; loops: Loop[] }[] = [];
  private isOpen = false;

  constructor(
    private readonly deliveries: DeliveriesRepository,
    private readonly logger: Logger,
  ) {}

  /** Takes back what the process before this one had taken, and lets events flow. */
  async open(): Promise<void> {
    await this.deliveries.makeAllDue();
    this.isOpen = true;
    for (const { loops } of this.consumers) loops.forEach((loop) => loop.start());
  }

  async publish(events: EventMessage[]): Promise<void> {
    if (!this.isOpen) throw new Error('The event stream is not open yet: not every consumer is known.');
    await this.deliveries.add(
      events,
      this.consumers.map(({ consumer }) => consumer),
    );
    const subjects = new Set(events.map(({ subject }) => subject));
    for (const { consumer, loops } of this.consumers) {
      if (subjects.has(consumer.subject)) loops.forEach((loop) => loop.wake());
    }
  }

  /** Rows of the same database cannot be lost apart from the outbox. */
  position(): Promise<StreamPosition> {
    return Promise.resolve({ createdAt: 'postgres', lastSequence: 0 });
  }

  consume(consumer: Consumer): Promise<void> {
    const loops = Array.from(
      { length: consumer.concurrency },
      () => new Loop({ name: consumer.name, intervalMs: 1_000, logger: this.logger }, () => this.round(consumer)),
    );
    this.consumers.push({ consumer, loops });
    if (this.isOpen) loops.forEach((loop) => loop.start());
    return Promise.resolve();
  }

  async drain(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.consumers.flatMap(({ loops }) => loops).map((loop) => loop.stop()));
  }

  private async round(consumer: Consumer): Promise<boolean> {
    const delivery = await this.deliveries.take(consumer.name, ackWaitMs);
    if (!delivery) return false;
    await this.work(consumer, delivery);
    return true;
  }

  private async work(consumer: Consumer, { attempts, ...event }: TakenDelivery): Promise<void> {
    const { name, maxDeliveries } = consumer;
    const heartbeat = setInterval(() => this.extend(name, event.id), heartbeatMs);
    try {
      if (attempts > maxDeliveries) throw new Error('The process that worked on it ended every time.');
      await consumer.handle({ event, attempt: attempts, signal: this.stopping.signal });
      await this.deliveries.finish(name, event.id);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (this.stopping.signal.aborted) return this.deliveries.postpone(name, event.id, 0, reason);
      if (attempts < maxDeliveries) return this.deliveries.postpone(name, event.id, redeliveryDelayMs(attempts), reason);
      await consumer.bury(event, attempts, reason);
      await this.deliveries.finish(name, event.id);
    } finally {
      clearInterval(heartbeat);
    }
  }

  private extend(consumer: string, eventId: string): void {
    this.deliveries.extend(consumer, eventId, ackWaitMs).catch((error: unknown) => {
      this.logger.warn({ err: error, consumer, eventId }, 'a delivery could not be extended and may come twice');
    });
  }
}
