import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Events1795392000000 implements Migration {
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
        traceparent text,
        PRIMARY KEY (consumer, event_id)
      );
      CREATE INDEX delivery_due ON delivery (consumer, due_at);
    `);
  }
}
