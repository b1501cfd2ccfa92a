import type { Transaction } from '@parley/database/database';
import { newId } from '@parley/database/ids';
import type { EventMessage } from '@parley/bus/event-stream';
import type { Event } from '@parley/contracts/operation';
import { currentTraceparent, inSpan, isTraced } from '@parley/tracing/tracing';

/** What fits into one message of any broker. One event that does not would hold up all those behind it. */
const maxEventBytes = 256 * 1024;

/** Announces what happened in the same commit as the change itself. */
export class Outbox {
  private wakeRelay: () => void = () => undefined;

  /** Called once the rows are committed, so that they leave at once. */
  onCommit(wake: () => void): void {
    this.wakeRelay = wake;
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
    );
  }

  /** Hands each event to this one consumer of it once more, under the id that it has. */
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

/** In the span that those who consume the event continue. */
function announced({ subject }: Event, insert: () => Promise<void>): Promise<void> {
  const attributes = {
    'messaging.system': 'parley',
    'messaging.operation.type': 'send',
    'messaging.destination.name': subject,
  };
  return inSpan({ name: `send ${subject}`, kind: 'producer', attributes }, insert);
}

function bodyOf(subject: string, data: unknown): string {
  const body = JSON.stringify(data);
  if (Buffer.byteLength(body) <= maxEventBytes) return body;
  throw new Error(`${subject} is larger than ${maxEventBytes} bytes: keep what is large in a row and announce its id.`);
}
