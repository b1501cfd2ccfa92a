import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Contents1797600000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE content_setting (
        bot_id text COLLATE "C" PRIMARY KEY,
        kept_since timestamptz(3) NOT NULL DEFAULT now()
      );

      CREATE TABLE call_content (
        call_id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        sealed text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX call_content_of_bot ON call_content (bot_id);
      CREATE INDEX call_content_created ON call_content (created_at);
    `);
  }
}
