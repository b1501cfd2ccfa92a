import type { EventMessage, StreamPosition } from '@parley/transport/event-stream';
import type { Database, Sql, Transaction } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { lockNext } from '@parley/persistence/lock-next';

interface OutboxRow {
  id: string;
  subject: string;
  data: unknown;
  repeats: string | null;
  consumer: string | null;
  traceparent: string | null;
}

const positionLock = `hashtextextended(current_schema() || ':stream', 0)`;

/** Rows per statement: those of three days would exceed the statement timeout. */
const maxChangedRows = 10_000;

export class OutboxRepository {
  constructor(private readonly database: Database) {}

  get schema(): string {
    return this.database.schema;
  }

  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /**
   * Marks the oldest unpublished rows that no other relay holds as published, and returns them in order of id. Publish
   * them before the commit. Index outbox_unpublished.
   */
  async markUnpublished(tx: Sql, limit: number): Promise<EventMessage[]> {
    const oldest = lockNext({
      ...{ table: 'outbox', columns: 'id', where: 'published_at IS NULL', orderBy: 'id' },
      limit: '$1',
    });
    const rows = await tx.query<OutboxRow>(
      `WITH marked AS (
         UPDATE outbox SET published_at = now() WHERE id = ANY (ARRAY(${oldest}))
         RETURNING id, subject, data, repeats, consumer, traceparent)
       SELECT * FROM marked ORDER BY id`,
      [limit],
      'mark_unpublished',
    );
    return rows.map(toEvent);
  }

  /** Marks all rows as unpublished. In order of id, so that no batch reads the rows of earlier ones again. Primary key. */
  async markAllUnpublished(tx: Sql): Promise<number> {
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
    await deleteOlder(this.database, 'outbox', 'published_at', hours);
  }

  /** Deletes ids of events that can no longer repeat. Index inbox_received. */
  async deleteReceived(hours: number): Promise<void> {
    await deleteOlder(this.database, 'inbox', 'received_at', hours);
  }

  /** Position of the stream, and whether rows wait. Index outbox_unpublished. */
  async findWaiting(sql: Sql = this.database): Promise<{ position?: StreamPosition; hasRows: boolean }> {
    const [row] = await sql.query<{ sequence: string | null; messageId: string; hasRows: boolean }>(
      `SELECT sequence, message_id AS "messageId", EXISTS (SELECT FROM outbox WHERE published_at IS NULL) AS "hasRows"
       FROM (VALUES (1)) AS once LEFT JOIN outbox_place ON true`,
      [],
      'find_waiting_events',
    );
    const { sequence, messageId, hasRows } = row!;
    return { position: sequence === null ? undefined : { sequence: Number(sequence), messageId }, hasRows };
  }

  private async findStreamPosition(sql: Sql): Promise<StreamPosition | undefined> {
    const [row] = await sql.query<{ sequence: string; messageId: string }>(
      'SELECT sequence, message_id AS "messageId" FROM outbox_place',
      [],
      'find_stream_position',
    );
    return row && { sequence: Number(row.sequence), messageId: row.messageId };
  }

  /** Shared advisory lock until the transaction ends: no relay can declare the stream lost before this batch is committed. */
  async lockStreamPositionShared(tx: Sql): Promise<StreamPosition | undefined> {
    await tx.query(`SELECT pg_advisory_xact_lock_shared(${positionLock})`, [], 'lock_stream_position_shared');
    return this.findStreamPosition(tx);
  }

  /** Exclusive advisory lock: waits until no relay is publishing. */
  async lockStreamPosition(tx: Sql): Promise<StreamPosition | undefined> {
    await tx.query(`SELECT pg_advisory_xact_lock(${positionLock})`);
    return this.findStreamPosition(tx);
  }

  /** Keeps the later position: relays may save in another order than they have published. */
  async saveStreamPosition(tx: Sql, { sequence, messageId }: StreamPosition): Promise<void> {
    await tx.query(
      `INSERT INTO outbox_place (singleton, sequence, message_id) VALUES (true, $1, $2)
       ON CONFLICT (singleton) DO UPDATE SET sequence = $1, message_id = $2 WHERE outbox_place.sequence < $1`,
      [sequence, messageId],
    );
  }

  async deleteStreamPosition(tx: Sql): Promise<void> {
    await tx.query('DELETE FROM outbox_place');
  }

  /** Backlog: number of unpublished events and age of the oldest. Index outbox_unpublished. */
  async measureBacklog(): Promise<{ count: number; oldestSeconds: number }> {
    const [row] = await this.database.query<{ count: number; oldestSeconds: number }>(
      `SELECT count(*)::int AS count, coalesce(extract(epoch FROM now() - min(created_at)), 0)::float AS "oldestSeconds"
       FROM outbox WHERE published_at IS NULL`,
    );
    return row!;
  }
}

function toEvent({ id, subject, data, repeats, consumer, ...row }: OutboxRow): EventMessage {
  const traceparent = row.traceparent ?? undefined;
  if (!repeats || !consumer) return { id, subject, data, traceparent };
  return { id: repeats, subject, data, traceparent, again: { consumer, messageId: id } };
}
