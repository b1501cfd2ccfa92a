import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Indexing belongs to the trace of the request that asked for it, whichever event wakes the worker. */
export class JobTraceparent1700000002050 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE indexing_job ADD COLUMN traceparent text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE indexing_job DROP COLUMN traceparent');
  }
}
