import type { Logger } from '@parley/logging/logger';
import {
  ackWaitMs,
  type EventMessage,
  type EventStream,
  type StreamPosition,
  type WorkingConsumer,
} from '@parley/transport/event-stream';
import { type NewWork, queue } from '@parley/work-queue/queue';
import type { AttemptEnd } from '@parley/work-queue/queue-worker';
import type { WorkRepository } from '@parley/work-queue/work.repository';
import { WorkRunner } from '@parley/work-queue/work-runner';
import type { ShownWork } from '@parley/work-queue/work.service';

type Payload = Pick<EventMessage, 'subject' | 'data'>;

export interface PostgresEventsOptions {
  /** Lease of a delivery in milliseconds. */
  leaseMs?: number;
  onAttemptEnded?: (queue: string, end: AttemptEnd) => void;
}

/**
 * Event stream of the embedded mode: each consumer is a queue in Postgres, with turns by bot. Only one instance per
 * database. Publishing fails before `open()`, when every consumer is registered.
 */
export class PostgresEvents implements EventStream {
  private readonly consumers: WorkingConsumer[] = [];
  private readonly runner: WorkRunner;

  isOpen = false;
  readonly canLose: boolean = false;

  constructor(
    private readonly work: WorkRepository,
    logger: Logger,
    private readonly options: PostgresEventsOptions = {},
  ) {
    const { onAttemptEnded } = options;
    this.runner = new WorkRunner(work, { worker: 'embedded', isOnlyWorker: true, logger, onAttemptEnded });
  }

  /** Deliveries that wait or run, for the operators of the services that consume them. */
  get deliveries(): ShownWork {
    return { rows: this.work, wake: (consumer) => this.runner.wake(consumer) };
  }

  /** Ends the leases of the previous process and starts delivery. */
  async open(): Promise<void> {
    this.isOpen = true;
    await this.runner.start();
  }

  async publish(events: EventMessage[]): Promise<StreamPosition | undefined> {
    if (!this.isOpen)
      throw new Error('The event stream is not open yet: call open() after all consumers are registered.');
    for (const { name, subject } of this.consumers) {
      const deliveries = events.filter((event) => !event.again && event.subject === subject);
      if (deliveries.length === 0) continue;
      await this.work.insertWork(queue(name), deliveries.map(toWork));
      this.runner.wake(name);
    }
    for (const event of events) {
      if (event.again) await this.replay(event, event.again.consumer);
    }
    return undefined;
  }

  /** Always true: the rows are in the same database as the outbox. */
  keeps(_position: StreamPosition): Promise<boolean> {
    return Promise.resolve(true);
  }

  consume(consumer: WorkingConsumer): Promise<void> {
    const { name, concurrency, maxDeliveries } = consumer;
    const { leaseMs = ackWaitMs } = this.options;
    // Consumers with the same name share the events: any of them may handle all of this process.
    if (this.consumers.some((known) => known.name === name)) return Promise.resolve();
    this.consumers.push(consumer);
    this.runner.register<Payload>(
      queue(name),
      // Consumers have time limits of their own.
      { concurrency, attempts: maxDeliveries, leaseMs, timeoutMs: Infinity },
      ({ key: id, payload, attempt, signal, traceparent }) =>
        consumer.handle({ event: { id, ...payload, traceparent }, attempt, signal }),
      ({ key: id, payload, attempts }, reason) => consumer.deadLetter({ id, ...payload }, attempts, reason),
    );
    return Promise.resolve();
  }

  async drain(): Promise<void> {
    await this.runner.stop();
  }

  /** Event that is being given up is delivered once more. One that waits is delivered at once. */
  private async replay(event: EventMessage, consumer: string): Promise<void> {
    await this.work.insertWork(queue(consumer, { repeated: 'again' }), [toWork(event)]);
    await this.work.retryWork(consumer, event.id);
    this.runner.wake(consumer);
  }
}

function toWork({ id, subject, data, traceparent }: EventMessage): NewWork<Payload> {
  return { key: id, tenant: tenantOf(data), payload: { subject, data }, traceparent };
}

function tenantOf(data: unknown): string {
  const { botId } = (data ?? {}) as { botId?: unknown };
  return typeof botId === 'string' ? botId : '';
}
