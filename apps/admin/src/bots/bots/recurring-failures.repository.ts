import { Injectable } from '@nestjs/common';
import type { RecurringEventSettled } from '@parley/contracts/chat/recurring-outcomes';
import { Database, type Sql } from '@parley/persistence/database';

@Injectable()
export class RecurringFailuresRepository {
  constructor(private readonly database: Database) {}

  /** Does nothing for an event that the bot itself does not define. Index: the primary keys. */
  async upsertNewer({
    botId,
    name,
    failedAttempts,
    lastFailureReason,
    revision,
  }: RecurringEventSettled): Promise<void> {
    await this.database.query(
      `INSERT INTO recurring_failure (bot_id, name, failed_attempts, last_failure_reason, revision)
       SELECT id, $2, $3, $4, $5 FROM bot WHERE id = $1 AND definition -> 'recurringEvents' ? $2
       ON CONFLICT (bot_id, name) DO UPDATE SET failed_attempts = excluded.failed_attempts,
         last_failure_reason = excluded.last_failure_reason, revision = excluded.revision
       WHERE recurring_failure.revision < excluded.revision`,
      [botId, name, failedAttempts, lastFailureReason, revision],
    );
  }

  /** For events that are defined anew or removed. */
  async deleteFailures(tx: Sql, botId: string, names: string[]): Promise<void> {
    if (names.length === 0) return;
    await tx.query('DELETE FROM recurring_failure WHERE bot_id = $1 AND name = ANY ($2)', [botId, names]);
  }
}
