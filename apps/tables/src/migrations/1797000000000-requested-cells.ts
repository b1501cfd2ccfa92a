import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class RequestedCells1797000000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE computing_bot (
        bot_id text COLLATE "C" PRIMARY KEY,
        computes_rows boolean NOT NULL,
        revision bigint NOT NULL
      );
      CREATE TABLE requested_cell (
        table_number bigint NOT NULL,
        row_id integer NOT NULL,
        column_key text COLLATE "C" NOT NULL,
        bot_id text COLLATE "C" NOT NULL,
        action text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        expires_at timestamptz NOT NULL,
        PRIMARY KEY (table_number, row_id, column_key)
      );
      CREATE INDEX requested_cell_expires ON requested_cell (expires_at);
    `);
  }
}
