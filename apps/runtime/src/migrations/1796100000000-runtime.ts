import { eventTables1795392000000 } from '@parley/events/migrations/1795392000000-event-tables';
import { idempotencyTables1795392000000 } from '@parley/persistence/migrations/1795392000000-idempotency-tables';
import type { Migration } from '@parley/persistence/service-schema';
import { workTable1796000000000 } from '@parley/work-queue/migrations/1796000000000-work-table';
import type { QueryRunner } from 'typeorm';

export class Runtime1796100000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(eventTables1795392000000);
    await runner.query(idempotencyTables1795392000000);
    await runner.query(workTable1796000000000);
    await runner.query(`
      CREATE TABLE delivery (
        bot_id text COLLATE "C" NOT NULL,
        event_id text COLLATE "C" NOT NULL,
        type text COLLATE "C" NOT NULL,
        replays integer NOT NULL,
        status text,
        reason text,
        attempts jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL,
        settled_at timestamptz(3),
        PRIMARY KEY (bot_id, event_id)
      );
      CREATE INDEX delivery_status ON delivery (bot_id, status, event_id) WHERE status IS NOT NULL;
      CREATE INDEX delivery_settled ON delivery (settled_at) WHERE settled_at IS NOT NULL;
    `);
  }
}
