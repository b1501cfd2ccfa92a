import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Workspaces1700000003000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- What the hub shows of the workspaces that publish in it: told by admin, which owns them.
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
