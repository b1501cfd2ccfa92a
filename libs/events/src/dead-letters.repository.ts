import type { EventMessage } from '@parley/transport/event-stream';
import type { DeadLetter } from '@parley/contracts/dead-letters';
import type { Database, Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { toJsonb, toText } from '@parley/persistence/storable';
import { DeadLetterEntity } from './dead-letter.entity';

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

  countDeadLetters(): Promise<number> {
    return this.database.manager.count(DeadLetterEntity);
  }

  async listNewest(limit: number): Promise<DeadLetter[]> {
    const rows = await this.database.manager.find(DeadLetterEntity, {
      select: { id: true, consumer: true, subject: true, reason: true, attempts: true, created_at: true },
      order: { id: 'DESC' },
      take: limit,
    });
    return rows.map(({ created_at, ...row }) => ({ ...row, createdAt: created_at.toISOString() }));
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
