import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class ModelUse1797400000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE model_use (
        bot_id text COLLATE "C" NOT NULL,
        hour timestamptz(3) NOT NULL,
        calls integer NOT NULL,
        figures jsonb NOT NULL,
        PRIMARY KEY (bot_id, hour)
      );
      CREATE INDEX model_use_hour ON model_use (hour);
    `);
  }
}
