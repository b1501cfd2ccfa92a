import type { MigrationInterface, QueryRunner } from 'typeorm';

export class LocalIndex1700000000200 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE SEQUENCE local_index_revision;

      -- Locked by every write of the bot, so that its revisions are committed in order.
      CREATE TABLE local_index_tenant (
        bot_id text COLLATE "C" PRIMARY KEY,
        revision int8 NOT NULL,
        removed_revision int8 NOT NULL
      );

      -- vector and term_values: float32, term_indices: uint32 ascending, all little endian.
      CREATE TABLE local_index_point (
        bot_id text COLLATE "C" NOT NULL,
        id uuid NOT NULL,
        model text NOT NULL,
        file_id text COLLATE "C" NOT NULL,
        content_version text COLLATE "C" NOT NULL,
        vector bytea NOT NULL,
        term_indices bytea NOT NULL,
        term_values bytea NOT NULL,
        tags jsonb NOT NULL,
        revision int8 NOT NULL,
        PRIMARY KEY (bot_id, id)
      );
      CREATE INDEX local_index_point_revision ON local_index_point (bot_id, revision);
      CREATE INDEX local_index_point_file ON local_index_point (bot_id, file_id);

      -- Floats do not compress: do not try.
      ALTER TABLE local_index_point ALTER COLUMN vector SET STORAGE EXTERNAL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE local_index_point, local_index_tenant; DROP SEQUENCE local_index_revision');
  }
}
