import type { Transaction } from '@parley/database/database';
import { newId } from '@parley/database/ids';
import type { Event } from '@parley/contracts/operation';

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
    await tx.query(
      'INSERT INTO outbox (id, subject, data) SELECT id, $2, data FROM unnest($1::text[], $3::jsonb[]) AS entry (id, data)',
      [data.map(() => newId('outbox')), event.subject, data.map((entry) => JSON.stringify(entry))],
    );
    tx.afterCommit(this.wakeRelay);
  }
}
