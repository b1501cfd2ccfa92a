import type { Migration } from '@parley/persistence/service-schema';
import { workTable1796000000000 } from '@parley/work-queue/migrations/1796000000000-work-table';
import type { QueryRunner } from 'typeorm';

/** Deliveries become work: a queue for each consumer. */
export class DeliveriesAsWork1796000000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(workTable1796000000000);
    await runner.query(`
      INSERT INTO work (queue, key, tenant, payload, state, due_at, attempts, last_error, traceparent)
      SELECT consumer, event_id, coalesce(data->>'botId', ''), jsonb_build_object('subject', subject, 'data', data),
        'waiting', due_at, attempts, last_error, traceparent
      FROM delivery ORDER BY due_at;
      DROP TABLE delivery;
    `);
  }
}
