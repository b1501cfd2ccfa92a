import type { Database, Transaction } from '@parley/persistence/database';

/** Inbox: makes consumers idempotent whose effect has no natural key. */
export class Inbox {
  constructor(private readonly database: Database) {}

  /**
   * Runs the effect in the transaction that stores the event id. Returns false for a repeat, and renews its retention,
   * since an event that came twice may come a third time.
   */
  async once(consumer: string, eventId: string, effect: (tx: Transaction) => Promise<void>): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const fresh = await tx.query(
        'INSERT INTO inbox (consumer, event_id) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING 1',
        [consumer, eventId],
      );
      if (fresh.length === 0) {
        await tx.query('UPDATE inbox SET received_at = now() WHERE consumer = $1 AND event_id = $2', [
          consumer,
          eventId,
        ]);
        return false;
      }
      await effect(tx);
      return true;
    });
  }
}
