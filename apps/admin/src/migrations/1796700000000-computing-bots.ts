import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

/** Announces the bots that compute rows of their tables. */
const computingBots = `
  INSERT INTO outbox (id, subject, data)
  SELECT 'outbox_' || upper(replace(gen_random_uuid()::text, '-', '')), 'admin.botTargetChanged', jsonb_build_object(
    'botId', id, 'isDeployed', false, 'isCalled', (url IS NOT NULL OR version_id IS NOT NULL) AND NOT blocked,
    'revision', floor(extract(epoch FROM updated_at) * 1000)::bigint + 1, 'computesRows', true)
  FROM bot WHERE definition -> 'actions' ? 'tablesRecomputeRows';
`;

export class ComputingBots1796700000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(computingBots);
  }
}
