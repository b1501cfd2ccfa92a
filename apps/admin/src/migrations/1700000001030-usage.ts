import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Usage1700000001030 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE usage (
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
        -- Empty for usage without a bot.
        bot_id text COLLATE "C" NOT NULL,
        type text COLLATE "C" NOT NULL,
        -- UTC, formatted as 2026-01-31. The value is the last one of the day.
        day text COLLATE "C" NOT NULL,
        value double precision NOT NULL,
        changed_at timestamptz(3) NOT NULL,
        PRIMARY KEY (workspace_id, type, bot_id, day)
      );
      CREATE INDEX usage_changed ON usage (workspace_id, type, changed_at, bot_id);
      CREATE INDEX usage_day ON usage (workspace_id, type, day, bot_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE usage');
  }
}
