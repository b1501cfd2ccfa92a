import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Plugins1700000003022 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Code in a table of its own, since it may have 50 MB; one row for all versions that share it.
      CREATE TABLE plugin_code (
        -- SHA-256 of the content.
        hash bytea PRIMARY KEY,
        content text NOT NULL
      );

      -- One row for each version.
      CREATE TABLE plugin (
        id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        -- Orders versions as semver does.
        version_key text COLLATE "C" NOT NULL,
        is_prerelease boolean NOT NULL,
        visibility text NOT NULL CHECK (visibility IN ('public', 'private', 'unlisted')),
        title text NOT NULL,
        description text NOT NULL,
        -- Empty, or data URLs.
        icon_url text NOT NULL,
        readme_url text NOT NULL,
        sdk_version text,
        -- json, not jsonb: keeps the order of properties in schemas.
        definition json NOT NULL,
        node_code bytea NOT NULL REFERENCES plugin_code,
        browser_code bytea NOT NULL REFERENCES plugin_code,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT plugin_version UNIQUE (name, workspace_id, version)
      );
      CREATE INDEX plugin_of_workspace ON plugin (workspace_id, created_at, id);
      CREATE INDEX plugin_public ON plugin (created_at, id) WHERE visibility = 'public';
      CREATE INDEX plugin_node_code ON plugin (node_code);
      CREATE INDEX plugin_browser_code ON plugin (browser_code);

      -- Dependencies of plugins: restricts the deletion of an entry that a plugin depends on.
      CREATE TABLE plugin_interface (
        plugin_id text COLLATE "C" NOT NULL REFERENCES plugin ON DELETE CASCADE,
        alias text COLLATE "C" NOT NULL,
        interface_id text COLLATE "C" NOT NULL REFERENCES interface,
        PRIMARY KEY (plugin_id, alias)
      );
      CREATE INDEX plugin_interface_id ON plugin_interface (interface_id);
      CREATE TABLE plugin_integration (
        plugin_id text COLLATE "C" NOT NULL REFERENCES plugin ON DELETE CASCADE,
        alias text COLLATE "C" NOT NULL,
        integration_id text COLLATE "C" NOT NULL REFERENCES integration,
        PRIMARY KEY (plugin_id, alias)
      );
      CREATE INDEX plugin_integration_id ON plugin_integration (integration_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE plugin_integration, plugin_interface, plugin, plugin_code');
  }
}
