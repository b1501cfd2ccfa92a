import type { EventMessage } from '@parley/transport/event-stream';
import type { DeadLetter } from '@parley/contracts/dead-letters';
import type { Database, Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { toJsonb, toText } from '@parley/persistence/storable';

interface DeadLetterRow extends Omit<DeadLetter, 'createdAt'> {
  createdAt: Date;
}

/** Dead letters: events of this service's consumers without deliveries left. */
export class DeadLettersRepository {
  constructor(private readonly database: Database) {}

  /** Idempotent: one dead letter per consumer and event. */
  async insertDeadLetter(consumer: string, event: EventMessage, attempts: number, reason: string): Promise<void> {
    await this.database.query(
      `INSERT INTO dead_letter (id, consumer, event_id, subject, data, attempts, reason)
       VALUES ($1, $2, $3, $4, $5, $6, $7)
       ON CONFLICT (consumer, event_id) DO UPDATE SET attempts = $6, reason = $7`,
      [
        newId('dead'),
        consumer,
        event.id,
        event.subject,
        toJsonb(event.data ?? null),
        attempts,
        toText(reason).slice(0, 2000),
      ],
    );
  }

  async countDeadLetters(): Promise<number> {
    const [row] = await this.database.query<{ count: number }>('SELECT count(*)::int AS count FROM dead_letter');
    return row!.count;
  }

  async listNewest(limit: number): Promise<DeadLetter[]> {
    const rows = await this.database.query<DeadLetterRow>(
      `SELECT id, consumer, subject, reason, attempts, created_at AS "createdAt"
       FROM dead_letter ORDER BY id DESC LIMIT $1`,
      [limit],
    );
    return rows.map((row) => ({ ...row, createdAt: row.createdAt.toISOString() }));
  }

  /** Deletes dead letters and passes their events on, in one transaction. */
  async deleteForReplay(
    id: string | undefined,
    handOn: (tx: Transaction, letters: { consumer: string; event: EventMessage }[]) => Promise<void>,
  ): Promise<number> {
    return this.database.transaction(async (tx) => {
      const rows = await tx.query<EventMessage & { consumer: string }>(
        'DELETE FROM dead_letter WHERE $1::text IS NULL OR id = $1 RETURNING consumer, event_id AS id, subject, data',
        [id ?? null],
      );
      await handOn(
        tx,
        rows.map(({ consumer, ...event }) => ({ consumer, event })),
      );
      return rows.length;
    });
  }
}
