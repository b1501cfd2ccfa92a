import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

/** Announces the bots that have a url: their events are delivered from now on. */
export class CalledBots1796100000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      INSERT INTO outbox (id, subject, data)
      SELECT 'outbox_' || upper(replace(gen_random_uuid()::text, '-', '')), 'admin.botTargetChanged', jsonb_build_object(
        'botId', id, 'isDeployed', false, 'isCalled', NOT blocked,
        'revision', floor(extract(epoch FROM updated_at) * 1000)::bigint)
      FROM bot WHERE url IS NOT NULL;
    `);
  }
}
