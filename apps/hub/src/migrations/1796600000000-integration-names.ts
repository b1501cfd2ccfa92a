import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

/** Requests to shared webhooks find integrations by name. */
export class IntegrationNames1796600000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX integration_by_name ON integration (name) WHERE NOT dev');
  }
}
