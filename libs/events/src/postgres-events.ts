import type { Consumer } from '@parley/contracts/operation';
import type { Database } from '@parley/persistence/database';
import { newUlid } from '@parley/persistence/ids';
import { lockNext } from '@parley/persistence/lock-next';
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
import { type LeasedWork, WorkRepository } from '@parley/work-queue/work.repository';
import { WorkRunner } from '@parley/work-queue/work-runner';
import type { ShownWork } from '@parley/work-queue/work.service';
import { addStartedWork } from '@parley/work-queue/work-statements';

/** Name of the only process. */
const worker = 'embedded';

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
  private readonly work: WorkRepository;
  private readonly runner: WorkRunner;

  isOpen = false;
  readonly canLose: boolean = false;

  constructor(
    private readonly database: Database,
    logger: Logger,
    private readonly options: PostgresEventsOptions = {},
  ) {
    const { onAttemptEnded } = options;
    this.work = new WorkRepository(database);
    this.runner = new WorkRunner(this.work, { worker, isOnlyWorker: true, logger, onAttemptEnded });
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

  async moveFrom(schema: string, limit: number): Promise<{ found: number; hasReplays: boolean }> {
    const consumers = this.consumers.map(({ name, subject }) => ({
      ...{ name, subject },
      // Services move their own events at the same time: each reserves other places.
      places: subject.startsWith(`${schema}.`) ? this.runner.reserve(name) : 0,
    }));
    const addedAt = performance.now();
    let rows: MovedRow[] = [];
    try {
      rows = await this.database.query<MovedRow>(
        moveText(schema),
        [limit, JSON.stringify(consumers), newUlid(), worker, this.options.leaseMs ?? ackWaitMs],
        `move_events_${schema}`,
      );
    } finally {
      for (const { name, places } of consumers) {
        const added = rows.filter(({ queue }) => queue === name);
        const started = added.filter(({ lease }) => lease !== null) as LeasedWork[];
        if (places > 0) await this.runner.startAdded(name, places, started, addedAt);
        if (started.length < added.length) this.runner.wake(name);
      }
    }
    return rows[0]!;
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

  isConsumed({ name }: Pick<Consumer, 'name'>): Promise<boolean> {
    return Promise.resolve(this.consumers.some((known) => known.name === name));
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

interface MovedRow extends Omit<LeasedWork, 'lease' | 'queue'> {
  found: number;
  hasReplays: boolean;
  /** Null without a consumer. */
  queue: string | null;
  /** Null for work that waits. */
  lease: string | null;
}

/** Moves events of the outbox to the queues of their consumers, and claims as many as these have places. Index outbox_unpublished. */
function moveText(schema: string): string {
  const outbox = `"${schema}".outbox`;
  const where = 'published_at IS NULL';
  const oldest = lockNext({ table: outbox, columns: 'id, repeats', where, orderBy: 'id', limit: '$1' });
  const deliveries = `
      SELECT consumer.name AS queue, id AS key, coalesce(data ->> 'botId', '') AS tenant,
        jsonb_build_object('subject', subject, 'data', data) AS payload, traceparent,
        row_number() OVER (PARTITION BY consumer.name ORDER BY id) AS number, places
      FROM moved JOIN jsonb_to_recordset($2::jsonb) AS consumer (name text, subject text, places int) USING (subject)`;
  return `WITH found AS MATERIALIZED (${oldest}),
    moved AS (
      UPDATE ${outbox} SET published_at = now() WHERE id = ANY (ARRAY(SELECT id FROM found WHERE repeats IS NULL))
      RETURNING id, subject, data, traceparent),
    ${addStartedWork(deliveries, ['$3', '$4', '$5::int'])}
    SELECT count.*, added.*
    FROM (SELECT count(*)::int AS found, count(repeats) > 0 AS "hasReplays" FROM found) AS count LEFT JOIN added ON true`;
}

function toWork({ id, subject, data, traceparent }: EventMessage): NewWork<Payload> {
  return { key: id, tenant: tenantOf(data), payload: { subject, data }, traceparent };
}

function tenantOf(data: unknown): string {
  const { botId } = (data ?? {}) as { botId?: unknown };
  return typeof botId === 'string' ? botId : '';
}
