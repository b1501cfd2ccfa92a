import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Traces indexing as part of the request that caused it, whichever event wakes the worker. */
export class JobTraceparent1700000002050 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE indexing_job ADD COLUMN traceparent text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE indexing_job DROP COLUMN traceparent');
  }
}
