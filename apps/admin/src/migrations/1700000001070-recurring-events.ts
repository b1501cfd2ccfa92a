import { newId } from '@parley/persistence/ids';
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class RecurringEvents1700000001070 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Increases with every change of the recurring events in the definition.
      ALTER TABLE bot ADD COLUMN recurring_events_revision integer NOT NULL DEFAULT 0`);
    await announce(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE bot DROP COLUMN recurring_events_revision');
  }
}

/** Announces the recurring events of existing bots, which no service knows yet. */
async function announce(runner: QueryRunner): Promise<void> {
  const bots = (await runner.query(
    `UPDATE bot SET recurring_events_revision = 1 WHERE definition -> 'recurringEvents' <> '{}' RETURNING id`,
  )) as [{ id: string }[], number];
  for (const { id } of bots[0]) {
    await runner.query("INSERT INTO outbox (id, subject, data) VALUES ($1, 'admin.recurringEventsChanged', $2)", [
      newId('outbox'),
      { botId: id, revision: 1 },
    ]);
  }
}
