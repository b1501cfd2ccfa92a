import { PollingWorker } from '@parley/background/polling-worker';
import { retryBackoffMs } from '@parley/background/retry-backoff';
import {
  ackWaitMs,
  type WorkingConsumer,
  type EventMessage,
  type EventStream,
  heartbeatMs,
  type StreamPosition,
} from '@parley/transport/event-stream';
import type { Logger } from '@parley/logging/logger';
import type { DeliveriesRepository, LeasedDelivery } from './deliveries.repository';

/**
 * Event stream of the embedded mode: rows in Postgres, with wake-ups in process. Only one instance per database.
 * Publishing fails before `open()`, when every consumer is registered.
 */
export class PostgresEvents implements EventStream {
  private readonly stopping = new AbortController();
  private readonly consumers: { consumer: WorkingConsumer; workers: PollingWorker[] }[] = [];

  isOpen = false;

  constructor(
    private readonly deliveries: DeliveriesRepository,
    private readonly logger: Logger,
    private readonly timing = { ackWaitMs, heartbeatMs },
  ) {}

  /** Ends the leases of the previous process and starts delivery. */
  async open(): Promise<void> {
    await this.deliveries.makeAllDue();
    this.isOpen = true;
    for (const { workers } of this.consumers) workers.forEach((worker) => worker.start());
  }

  async publish(events: EventMessage[]): Promise<StreamPosition | undefined> {
    if (!this.isOpen)
      throw new Error('The event stream is not open yet: call open() after all consumers are registered.');
    await this.deliveries.insertForConsumers(
      events.filter(({ again }) => !again),
      this.consumers.map(({ consumer }) => consumer),
    );
    for (const event of events) {
      if (event.again) await this.deliveries.insertOrRestart(event, event.again.consumer);
    }
    const subjects = new Set(events.map(({ subject }) => subject));
    for (const { consumer, workers } of this.consumers) {
      if (subjects.has(consumer.subject)) workers.forEach((worker) => worker.wake());
    }
    return undefined;
  }

  /** Always true: the rows are in the same database as the outbox. */
  keeps(_position: StreamPosition): Promise<boolean> {
    return Promise.resolve(true);
  }

  consume(consumer: WorkingConsumer): Promise<void> {
    const workers = Array.from(
      { length: consumer.concurrency },
      () =>
        new PollingWorker({ name: consumer.name, intervalMs: 1_000, logger: this.logger }, () => this.round(consumer)),
    );
    this.consumers.push({ consumer, workers });
    if (this.isOpen) workers.forEach((worker) => worker.start());
    return Promise.resolve();
  }

  async drain(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.consumers.flatMap(({ workers }) => workers).map((worker) => worker.stop()));
  }

  private async round(consumer: WorkingConsumer): Promise<boolean> {
    const delivery = await this.deliveries.leaseNextDue(consumer.name, this.timing.ackWaitMs);
    if (!delivery) return false;
    await this.work(consumer, delivery);
    return true;
  }

  private async work(consumer: WorkingConsumer, delivery: LeasedDelivery): Promise<void> {
    const heartbeat = setInterval(() => this.extend(consumer.name, delivery.id), this.timing.heartbeatMs);
    try {
      await this.settle(consumer, delivery);
    } finally {
      clearInterval(heartbeat);
    }
  }

  /** Finishes the delivery, gives it back or stores a dead letter. If that fails, it is redelivered after its lease. */
  private async settle(consumer: WorkingConsumer, delivery: LeasedDelivery): Promise<void> {
    const { attempts, ...event } = delivery;
    const { name, maxDeliveries } = consumer;
    const { signal } = this.stopping;
    if (signal.aborted) return this.deliveries.releaseLease(name, event.id);
    if (attempts > maxDeliveries) {
      return this.deadLetter(consumer, delivery, 'Every process that worked on it ended.');
    }
    try {
      await consumer.handle({ event, attempt: attempts, signal });
    } catch (error) {
      if (signal.aborted) return this.deliveries.releaseLease(name, event.id);
      const reason = error instanceof Error ? error.message : String(error);
      if (attempts < maxDeliveries) {
        return this.deliveries.postpone(name, event.id, retryBackoffMs(attempts), reason);
      }
      return this.deadLetter(consumer, delivery, reason);
    }
    // Outside the try: finished work is not given back because it could not be marked.
    await this.deliveries.deleteFinished(name, delivery);
  }

  private async deadLetter(consumer: WorkingConsumer, delivery: LeasedDelivery, reason: string): Promise<void> {
    const { attempts, ...event } = delivery;
    await consumer.deadLetter(event, attempts, reason);
    await this.deliveries.deleteFinished(consumer.name, delivery);
  }

  private extend(consumer: string, eventId: string): void {
    this.deliveries.extendLease(consumer, eventId, this.timing.ackWaitMs).catch((error: unknown) => {
      this.logger.warn(
        { err: error, consumer, eventId },
        'the lease of an event could not be extended, it may be delivered twice',
      );
    });
  }
}
