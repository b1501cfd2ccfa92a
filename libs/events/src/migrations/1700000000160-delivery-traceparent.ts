import type { MigrationInterface, QueryRunner } from 'typeorm';

export class DeliveryTraceparent1700000000160 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE delivery ADD COLUMN traceparent text');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE delivery DROP COLUMN traceparent');
  }
}
