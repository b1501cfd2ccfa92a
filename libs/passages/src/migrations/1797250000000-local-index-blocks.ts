import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

/** Blocks of the local index, in the schemas of the services that have one. They are filled by later searches. */
export class LocalIndexBlocks1797250000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE local_index_block (
        bot_id text COLLATE "C" NOT NULL REFERENCES local_index_tenant ON DELETE CASCADE,
        model text NOT NULL,
        id uuid NOT NULL,
        revision int8 NOT NULL,
        bytes bytea NOT NULL,
        dead bytea,
        PRIMARY KEY (bot_id, model, id)
      );

      -- Compact already: do not try.
      ALTER TABLE local_index_block ALTER COLUMN bytes SET STORAGE EXTERNAL;
    `);
  }
}
