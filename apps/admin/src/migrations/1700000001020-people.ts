import type { MigrationInterface, QueryRunner } from 'typeorm';

export class People1700000001020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE account ADD COLUMN display_name text, ADD COLUMN profile_picture text;

      -- Existing members have no id: Postgres generates one of the same form.
      ALTER TABLE workspace_member ADD COLUMN id text COLLATE "C" NOT NULL
        DEFAULT 'member_' || upper(left(replace(gen_random_uuid()::text, '-', ''), 26));
      CREATE UNIQUE INDEX workspace_member_id ON workspace_member (id);
      CREATE INDEX workspace_member_created ON workspace_member (workspace_id, created_at, id);

      CREATE INDEX workspace_public ON workspace (created_at, id) WHERE is_public;

      -- json, not jsonb: keeps the text of a value unchanged.
      CREATE TABLE account_preference (
        account_id text COLLATE "C" NOT NULL REFERENCES account ON DELETE CASCADE,
        key text COLLATE "C" NOT NULL,
        value json NOT NULL,
        PRIMARY KEY (account_id, key)
      );
      CREATE TABLE workspace_preference (
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
        key text COLLATE "C" NOT NULL,
        value json NOT NULL,
        PRIMARY KEY (workspace_id, key)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE workspace_preference, account_preference;
      DROP INDEX workspace_public;
      ALTER TABLE workspace_member DROP COLUMN id;
      ALTER TABLE account DROP COLUMN display_name, DROP COLUMN profile_picture;
    `);
  }
}
