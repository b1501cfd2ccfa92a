import type { EventMessage } from '@parley/transport/event-stream';
import type { Database } from '@parley/persistence/database';
import { toText } from '@parley/persistence/storable';

export interface LeasedDelivery extends EventMessage {
  /** Delivery attempts, including this one. */
  attempts: number;
}

export class DeliveriesRepository {
  constructor(private readonly database: Database) {}

  /** Inserts one row for each event and consumer of its subject. Existing rows stay unchanged. */
  async insertForConsumers(events: EventMessage[], consumers: { name: string; subject: string }[]): Promise<void> {
    await this.database.query(
      `INSERT INTO delivery (consumer, event_id, subject, data, traceparent)
       SELECT consumer.name, event.id, event.subject, event.data, event.traceparent
       FROM unnest($1::text[], $2::text[], $3::jsonb[], $6::text[]) AS event (id, subject, data, traceparent)
       JOIN unnest($4::text[], $5::text[]) AS consumer (name, subject) ON consumer.subject = event.subject
       ON CONFLICT DO NOTHING`,
      [
        events.map(({ id }) => id),
        events.map(({ subject }) => subject),
        events.map(({ data }) => JSON.stringify(data)),
        consumers.map(({ name }) => name),
        consumers.map(({ subject }) => subject),
        events.map(({ traceparent }) => traceparent ?? null),
      ],
    );
  }

  /** Replays an event to this consumer. An existing row restarts at attempt 0, so that `finish` keeps it. */
  async insertOrRestart({ id, subject, data, traceparent }: EventMessage, consumer: string): Promise<void> {
    await this.database.query(
      `INSERT INTO delivery (consumer, event_id, subject, data, traceparent) VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (consumer, event_id) DO UPDATE SET attempts = 0, due_at = now(), traceparent = $5`,
      [consumer, id, subject, JSON.stringify(data), traceparent ?? null],
    );
  }

  /** Leases the delivery that has been due longest. Index delivery_due. */
  async leaseNextDue(consumer: string, leaseMs: number): Promise<LeasedDelivery | undefined> {
    const [row] = await this.database.query<LeasedDelivery & { traceparent: string | null }>(
      `UPDATE delivery SET due_at = now() + make_interval(secs => $2::float8 / 1000), attempts = attempts + 1
       WHERE consumer = $1 AND event_id = (
         SELECT event_id FROM delivery WHERE consumer = $1 AND due_at <= now()
         ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING event_id AS id, subject, data, attempts, traceparent`,
      [consumer, leaseMs],
    );
    return row && { ...row, traceparent: row.traceparent ?? undefined };
  }

  /** Deletes the delivery, unless it was replayed or taken again meanwhile. */
  async deleteFinished(consumer: string, { id, attempts }: LeasedDelivery): Promise<void> {
    await this.database.query('DELETE FROM delivery WHERE consumer = $1 AND event_id = $2 AND attempts = $3', [
      consumer,
      id,
      attempts,
    ]);
  }

  async postpone(consumer: string, eventId: string, delayMs: number, error: string): Promise<void> {
    await this.database.query(
      `UPDATE delivery SET due_at = now() + make_interval(secs => $3::float8 / 1000), last_error = $4
       WHERE consumer = $1 AND event_id = $2`,
      [consumer, eventId, delayMs, toText(error).slice(0, 2000)],
    );
  }

  /** Gives a delivery back without counting the attempt. */
  async releaseLease(consumer: string, eventId: string): Promise<void> {
    await this.database.query(
      'UPDATE delivery SET due_at = now(), attempts = greatest(attempts - 1, 0) WHERE consumer = $1 AND event_id = $2',
      [consumer, eventId],
    );
  }

  async extendLease(consumer: string, eventId: string, leaseMs: number): Promise<void> {
    await this.database.query(
      'UPDATE delivery SET due_at = now() + make_interval(secs => $3::float8 / 1000) WHERE consumer = $1 AND event_id = $2',
      [consumer, eventId, leaseMs],
    );
  }

  /** Ends all leases and delays, such as leases of a dead process. Only for the process that owns the database. */
  async makeAllDue(): Promise<void> {
    await this.database.query('UPDATE delivery SET due_at = now() WHERE due_at > now()');
  }
}
