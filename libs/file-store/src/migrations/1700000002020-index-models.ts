import type { MigrationInterface, QueryRunner } from 'typeorm';

export class IndexModels1700000002020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Embedding models that the passage index has points of.
      CREATE TABLE index_model (
        model text PRIMARY KEY,
        -- Null until the first point is written.
        dimensions integer,
        -- Whether searches use this model.
        is_active boolean NOT NULL DEFAULT false,
        -- Cursor of the re-index: the last file that it has processed.
        place text COLLATE "C" NOT NULL DEFAULT ''
      );
      CREATE UNIQUE INDEX index_model_active ON index_model (is_active) WHERE is_active;

      -- Content versions with points of a model. A model lacks each active version without a complete row here.
      CREATE TABLE indexed_content (
        file_id text COLLATE "C" NOT NULL REFERENCES file ON DELETE CASCADE,
        model text NOT NULL,
        content_version text COLLATE "C" NOT NULL,
        -- Position at which the re-index continues; null when all passages have their points.
        next_position integer,
        PRIMARY KEY (file_id, model)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE indexed_content, index_model');
  }
}
