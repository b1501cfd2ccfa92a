import type { Transaction } from '@parley/database/database';
import { newId } from '@parley/database/ids';
import type { EventMessage } from '@parley/bus/event-stream';
import type { Event } from '@parley/contracts/operation';

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
    await tx.query(
      'INSERT INTO outbox (id, subject, data) SELECT id, $2, data FROM unnest($1::text[], $3::jsonb[]) AS entry (id, data)',
      [data.map(() => newId('outbox')), event.subject, bodies],
    );
    tx.afterCommit(this.wakeRelay);
  }

  /** Hands each event to this one consumer of it once more, under the id that it has. */
  async repeat(tx: Transaction, repeats: { consumer: string; event: EventMessage }[]): Promise<void> {
    if (repeats.length === 0) return;
    await tx.query(
      `INSERT INTO outbox (id, consumer, repeats, subject, data)
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::jsonb[])`,
      [
        repeats.map(() => newId('outbox')),
        repeats.map(({ consumer }) => consumer),
        repeats.map(({ event }) => event.id),
        repeats.map(({ event }) => event.subject),
        repeats.map(({ event }) => bodyOf(event.subject, event.data)),
      ],
    );
    tx.afterCommit(this.wakeRelay);
  }
}

function bodyOf(subject: string, data: unknown): string {
  const body = JSON.stringify(data);
  if (Buffer.byteLength(body) <= maxEventBytes) return body;
  throw new Error(`${subject} is larger than ${maxEventBytes} bytes: keep what is large in a row and announce its id.`);
}
