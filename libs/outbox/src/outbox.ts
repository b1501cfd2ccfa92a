import type { Transaction } from '@parley/database/database';
import { newId } from '@parley/database/ids';
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
    const bodies = data.map((entry) => JSON.stringify(entry));
    if (bodies.some((body) => Buffer.byteLength(body) > maxEventBytes)) {
      throw new Error(
        `${event.subject} is larger than ${maxEventBytes} bytes: keep what is large in a row and announce its id.`,
      );
    }
    await tx.query(
      'INSERT INTO outbox (id, subject, data) SELECT id, $2, data FROM unnest($1::text[], $3::jsonb[]) AS entry (id, data)',
      [data.map(() => newId('outbox')), event.subject, bodies],
    );
    tx.afterCommit(this.wakeRelay);
  }
}
