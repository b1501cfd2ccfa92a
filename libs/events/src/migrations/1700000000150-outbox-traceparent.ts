import type { MigrationInterface, QueryRunner } from 'typeorm';

export class OutboxTraceparent1700000000150 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox ADD COLUMN traceparent text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox DROP COLUMN traceparent');
  }
}
