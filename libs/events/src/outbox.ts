import type { Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { toJsonb } from '@parley/persistence/storable';
import type { EventMessage } from '@parley/transport/event-stream';
import type { Event } from '@parley/contracts/operation';
import { currentTraceparent, inSpan, isTraced } from '@parley/tracing/tracing';

/** Fits one message of any broker. A larger event would block all later ones. */
const maxEventBytes = 256 * 1024;

/**
 * SQL that adds one event for each row (id, data, traceparent) of the query, for a statement that writes the change as
 * well. Ids come from `newId('outbox')`. Call `Outbox.wake` after the commit.
 */
export function insertEventsOf({ subject }: Event, query: string): string {
  return `INSERT INTO outbox (id, subject, data, traceparent)
    SELECT id, '${subject}', data, traceparent FROM (${query}) AS entry (id, data, traceparent)`;
}

/** Transactional outbox: stores events in the same transaction as the change that they announce. */
export class Outbox {
  private wakeRelay: () => void = () => undefined;

  /** Sets the callback that wakes the relay after each commit. */
  onCommit(wake: () => void): void {
    this.wakeRelay = wake;
  }

  /** Publishes what was committed. Only needed after a statement that contains `insertEventsOf`. */
  wake(): void {
    this.wakeRelay();
  }

  async add<D>(tx: Transaction, event: Event<D>, data: D): Promise<void> {
    await this.addAll(tx, event, [data]);
  }

  async addAll<D>(tx: Transaction, event: Event<D>, data: D[]): Promise<void> {
    if (data.length === 0) return;
    const bodies = data.map((entry) => bodyOf(event.subject, entry));
    if (isTraced()) await announced(event, () => this.insert(tx, event, bodies));
    else await this.insert(tx, event, bodies);
    tx.afterCommit(this.wakeRelay);
  }

  private async insert(tx: Transaction, { subject }: Event, bodies: string[]): Promise<void> {
    await tx.query(
      `INSERT INTO outbox (id, subject, data, traceparent)
       SELECT id, $2, data, $4 FROM unnest($1::text[], $3::jsonb[]) AS entry (id, data)`,
      [bodies.map(() => newId('outbox')), subject, bodies, currentTraceparent() ?? null],
      'insert_outbox',
    );
  }

  /** Replays each event to one consumer, under the event's id. */
  async repeat(tx: Transaction, repeats: { consumer: string; event: EventMessage }[]): Promise<void> {
    if (repeats.length === 0) return;
    await tx.query(
      `INSERT INTO outbox (id, consumer, repeats, subject, data, traceparent)
       SELECT *, $6 FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::jsonb[])`,
      [
        repeats.map(() => newId('outbox')),
        repeats.map(({ consumer }) => consumer),
        repeats.map(({ event }) => event.id),
        repeats.map(({ event }) => event.subject),
        repeats.map(({ event }) => bodyOf(event.subject, event.data)),
        currentTraceparent() ?? null,
      ],
    );
    tx.afterCommit(this.wakeRelay);
  }
}

function announced({ subject }: Event, insert: () => Promise<void>): Promise<void> {
  const attributes = {
    'messaging.system': 'parley',
    'messaging.operation.type': 'send',
    'messaging.destination.name': subject,
  };
  return inSpan({ name: `send ${subject}`, kind: 'producer', attributes }, insert);
}

function bodyOf(subject: string, data: unknown): string {
  const body = toJsonb(data);
  if (Buffer.byteLength(body) <= maxEventBytes) return body;
  throw new Error(`Event ${subject} exceeds ${maxEventBytes} bytes: store large data in a row and publish its id.`);
}
