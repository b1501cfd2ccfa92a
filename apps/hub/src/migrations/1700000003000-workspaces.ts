import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Workspaces1700000003000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Copy of the public fields of workspaces, which admin owns and announces by event.
      CREATE TABLE workspace (
        id text COLLATE "C" PRIMARY KEY,
        name text NOT NULL,
        handle text,
        updated_at timestamptz(3) NOT NULL
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE workspace');
  }
}
