import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

const runtimeKeys = `
  ALTER TABLE token ADD COLUMN version_id text COLLATE "C", ADD COLUMN valid_until timestamptz(3);
`;

/** Announces the bots that have code: their events are delivered from now on. */
const calledBots = `
  INSERT INTO outbox (id, subject, data)
  SELECT 'outbox_' || upper(replace(gen_random_uuid()::text, '-', '')), 'admin.botTargetChanged', jsonb_build_object(
    'botId', id, 'isDeployed', false, 'isCalled', NOT blocked,
    'revision', floor(extract(epoch FROM updated_at) * 1000)::bigint + 1)
  FROM bot WHERE version_id IS NOT NULL AND url IS NULL;
`;

export class RuntimeKeys1796300000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(runtimeKeys);
    await runner.query(calledBots);
  }
}
