import type { EventMessage, StreamPosition } from '@parley/bus/event-stream';
import type { Database, Sql, Transaction } from '@parley/database/database';

interface OutboxRow {
  id: string;
  subject: string;
  data: unknown;
}

/** Of one statement: three days of events would be more than it has time for. */
const maxChangedRows = 10_000;

export class OutboxRepository {
  constructor(private readonly database: Database) {}

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /** The oldest rows that no other relay holds; they stay locked until the transaction ends. Index outbox_unpublished. */
  async takeUnpublished(tx: Sql, limit: number): Promise<EventMessage[]> {
    return tx.query<OutboxRow>(
      `SELECT id, subject, data FROM outbox WHERE published_at IS NULL
       ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED`,
      [limit],
    );
  }

  async markPublished(tx: Sql, ids: string[]): Promise<void> {
    await tx.query('UPDATE outbox SET published_at = now() WHERE id = ANY($1)', [ids]);
  }

  /** In the order of the ids, so that no batch looks again at what those before it have changed. Primary key. */
  async publishAgain(tx: Sql): Promise<number> {
    let changed = 0;
    for (let last: string | null = ''; last !== null;) {
      const [batch]: { count: string; last: string | null }[] = await tx.query(
        `WITH again AS (
           UPDATE outbox SET published_at = NULL WHERE id IN (
             SELECT id FROM outbox WHERE id > $1 AND published_at IS NOT NULL ORDER BY id LIMIT $2)
           RETURNING id)
         SELECT count(*), max(id) AS last FROM again`,
        [last, maxChangedRows],
      );
      changed += Number(batch!.count);
      last = batch!.last;
    }
    return changed;
  }

  /** Index outbox_published. */
  async deletePublished(hours: number): Promise<void> {
    await this.deleteOlder('outbox', 'published_at', hours);
  }

  /** Forgets events whose repeats can no longer come. Index inbox_received. */
  async deleteReceived(hours: number): Promise<void> {
    await this.deleteOlder('inbox', 'received_at', hours);
  }

  /** What was last seen of the stream, locked against other relays. */
  async lockPosition(tx: Sql): Promise<StreamPosition | undefined> {
    await tx.query("SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ':stream', 0))");
    const [row] = await tx.query<{ createdAt: string; lastSequence: string }>(
      'SELECT created_at AS "createdAt", last_sequence AS "lastSequence" FROM outbox_stream',
    );
    return row && { createdAt: row.createdAt, lastSequence: Number(row.lastSequence) };
  }

  async savePosition(tx: Sql, { createdAt, lastSequence }: StreamPosition): Promise<void> {
    await tx.query(
      `INSERT INTO outbox_stream (singleton, created_at, last_sequence) VALUES (true, $1, $2)
       ON CONFLICT (singleton) DO UPDATE SET created_at = $1, last_sequence = $2`,
      [createdAt, lastSequence],
    );
  }

  /** Events that wait to be published. */
  async countUnpublished(): Promise<number> {
    const [row] = await this.database.query<{ count: string }>(
      'SELECT count(*) FROM outbox WHERE published_at IS NULL',
    );
    return Number(row?.count ?? 0);
  }

  private async deleteOlder(table: 'outbox' | 'inbox', time: string, hours: number): Promise<void> {
    let deleted = maxChangedRows;
    while (deleted === maxChangedRows) {
      const rows = await this.database.query(
        `DELETE FROM ${table} WHERE ctid IN (
           SELECT ctid FROM ${table} WHERE ${time} < now() - make_interval(hours => $1) LIMIT $2) RETURNING 1`,
        [hours, maxChangedRows],
      );
      deleted = rows.length;
    }
  }
}
