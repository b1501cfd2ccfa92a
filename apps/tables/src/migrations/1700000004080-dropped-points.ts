import type { MigrationInterface, QueryRunner } from 'typeorm';

export class DroppedPoints1700000004080 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Deleted rows whose points have to be removed from the passage index.
      CREATE TABLE dropped_point (
        table_number bigint NOT NULL,
        row_id integer NOT NULL,
        PRIMARY KEY (table_number, row_id)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE dropped_point');
  }
}
