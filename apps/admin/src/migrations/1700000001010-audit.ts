import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Audit1700000001010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Audit records outlive accounts, bots and other resources: no foreign keys to them.
      CREATE TABLE audit_record (
        id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        account_id text COLLATE "C",
        email text,
        address text,
        action text NOT NULL,
        operation text NOT NULL,
        resource_id text COLLATE "C",
        resource_name text,
        value text,
        request_id text NOT NULL,
        recorded_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE INDEX audit_record_recorded ON audit_record (workspace_id, recorded_at, id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE audit_record');
  }
}
