import { builtInWorkspace, chatIntegration } from '@parley/contracts/hub/built-in';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { searchVector } from '../publishing/search-words';
import { versionKey } from '../publishing/version-key';

export class Integrations1700000003010 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- One row for each version.
      CREATE TABLE integration (
        id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        -- Orders versions as semver does.
        version_key text COLLATE "C" NOT NULL,
        is_prerelease boolean NOT NULL,
        dev boolean NOT NULL,
        title text NOT NULL,
        description text NOT NULL,
        url text,
        -- json, not jsonb: keeps the order of properties in schemas.
        definition json NOT NULL,
        attributes jsonb,
        sdk_version text,
        layers text[] NOT NULL DEFAULT '{}',
        max_execution_time integer,
        has_code boolean NOT NULL DEFAULT false,
        icon_url text NOT NULL DEFAULT '',
        readme_url text NOT NULL DEFAULT '',
        -- Encrypted, like the values of secrets.
        signing_secret text NOT NULL,
        -- Former secret with its expiry: accepts signatures from before a rotation.
        previous_signing_secret text,
        previous_signing_secret_until timestamptz(3),
        secrets jsonb NOT NULL,
        visibility text NOT NULL CHECK (visibility IN ('public', 'private', 'unlisted')),
        -- Bots of other workspaces may have it installed, even after it became private again.
        was_published boolean NOT NULL DEFAULT false,
        verification_status text NOT NULL DEFAULT 'unapproved'
          CHECK (verification_status IN ('unapproved', 'pending', 'approved', 'rejected')),
        lifecycle_status text NOT NULL DEFAULT 'published' CHECK (lifecycle_status IN ('published', 'deprecated')),
        -- Shown in the hub's list: the highest public release of its name.
        is_listed boolean NOT NULL DEFAULT false,
        -- Search index of name, title, description, actions and interfaces.
        search tsvector NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX integration_name ON integration (workspace_id, name, version) WHERE NOT dev;
      CREATE INDEX integration_workspace ON integration (workspace_id, created_at, id);
      CREATE INDEX integration_published ON integration (name) WHERE NOT dev AND visibility <> 'private';
      CREATE UNIQUE INDEX integration_listed ON integration (name) WHERE is_listed;
      CREATE INDEX integration_search ON integration USING gin (search);

      -- Code in a table of its own, since it may have 50 MB.
      CREATE TABLE integration_code (
        integration_id text COLLATE "C" PRIMARY KEY REFERENCES integration ON DELETE CASCADE,
        code text NOT NULL
      );

      -- Interfaces that an integration implements; name and version as of the declaration.
      CREATE TABLE integration_interface (
        integration_id text COLLATE "C" NOT NULL REFERENCES integration ON DELETE CASCADE,
        alias text COLLATE "C" NOT NULL,
        interface_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        -- The integration's names for the entities, actions, events and channels of the interface.
        names json NOT NULL,
        PRIMARY KEY (integration_id, alias)
      );
      CREATE INDEX integration_interface_id ON integration_interface (interface_id);
    `);
    await this.seedChat(runner);
  }

  /** Inserts the chat as defined at this time; a later change needs a migration of its own. */
  private async seedChat(runner: QueryRunner): Promise<void> {
    const { id, name, version, publishedAt, title, description, definition } = chatIntegration;
    await runner.query('INSERT INTO workspace (id, name, handle, updated_at) VALUES ($1, $2, $3, now())', [
      builtInWorkspace.id,
      builtInWorkspace.name,
      builtInWorkspace.handle,
    ]);
    await runner.query(
      `INSERT INTO integration (id, workspace_id, name, version, version_key, is_prerelease, dev, title, description,
         definition, signing_secret, secrets, visibility, verification_status, is_listed, search, created_at, updated_at)
       VALUES ($1, $2, $3, $4, $5, false, false, $6, $7, $8, '', '{}', 'public', 'approved', true, $9::tsvector, $10, $10)`,
      [
        id,
        builtInWorkspace.id,
        name,
        version,
        versionKey(version),
        title,
        description,
        JSON.stringify(definition),
        searchVector({ name, title, description, actions: Object.keys(definition.actions), interfaces: [] }),
        publishedAt,
      ],
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE integration_interface, integration_code, integration');
    await runner.query('DELETE FROM workspace WHERE id = $1', [builtInWorkspace.id]);
  }
}
