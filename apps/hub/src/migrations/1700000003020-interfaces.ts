import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Interfaces1700000003020 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE interface (
        id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        -- Orders versions as semver does.
        version_key text COLLATE "C" NOT NULL,
        is_prerelease boolean NOT NULL,
        visibility text NOT NULL CHECK (visibility IN ('public', 'private')),
        title text NOT NULL,
        description text NOT NULL,
        -- Empty, or data URLs.
        icon_url text NOT NULL,
        readme_url text NOT NULL,
        sdk_version text,
        -- json, not jsonb: keeps the order of properties in schemas.
        definition json NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT interface_version UNIQUE (name, workspace_id, version)
      );
      CREATE INDEX interface_of_workspace ON interface (workspace_id, created_at, id);
      CREATE INDEX interface_public ON interface (created_at, id) WHERE visibility = 'public';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE interface');
  }
}
