import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

/** Columns without a default: no row is rewritten, and the table is locked for the change of its catalogue only. */
export class Readers1797300000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE indexing_job ADD COLUMN seconds_left integer;
      ALTER TABLE file ADD COLUMN reader_format text, ADD COLUMN reader_version integer;
    `);
  }
}
