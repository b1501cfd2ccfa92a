import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Lexicon1797200000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE "table"
        ADD COLUMN lexicon integer NOT NULL DEFAULT 1,
        ADD COLUMN next_worded_id integer NOT NULL DEFAULT 0;
      CREATE INDEX table_lexicon ON "table" (lexicon);
    `);
  }
}
