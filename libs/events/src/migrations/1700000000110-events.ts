import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Event stream of the embedded mode: one row per event and consumer. */
export class Events1700000000110 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE delivery (
        consumer text NOT NULL,
        event_id text COLLATE "C" NOT NULL,
        subject text NOT NULL,
        data jsonb NOT NULL,
        attempts integer NOT NULL DEFAULT 0,
        due_at timestamptz NOT NULL DEFAULT now(),
        last_error text,
        PRIMARY KEY (consumer, event_id)
      );
      CREATE INDEX delivery_due ON delivery (consumer, due_at);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE delivery');
  }
}
