import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Lexicon1797200000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE indexed_content ADD COLUMN lexicon integer NOT NULL DEFAULT 1;
      CREATE INDEX indexed_content_lexicon ON indexed_content (model, lexicon, file_id);
    `);
  }
}
