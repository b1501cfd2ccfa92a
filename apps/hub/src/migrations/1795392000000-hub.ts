import { builtInWorkspace, chatIntegration } from '@parley/contracts/hub/built-in';
import { eventTables1795392000000 } from '@parley/events/migrations/1795392000000-event-tables';
import { idempotencyTables1795392000000 } from '@parley/persistence/migrations/1795392000000-idempotency-tables';
import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';
import { builtInInterfaces } from '../interfaces/built-in-interfaces';
import { searchVector } from '../publishing/search-words';
import { versionKey } from '../publishing/version-key';

/**
 * Creates the tables and inserts the built-in workspace, integration and interfaces. A later change of these rows needs
 * a migration of its own.
 */
export class Hub1795392000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(eventTables1795392000000);
    await runner.query(idempotencyTables1795392000000);
    await runner.query(`
      CREATE TABLE workspace (
        id text COLLATE "C" PRIMARY KEY,
        name text NOT NULL,
        handle text,
        updated_at timestamptz(3) NOT NULL
      );

      CREATE TABLE interface (
        id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        version_key text COLLATE "C" NOT NULL,
        is_prerelease boolean NOT NULL,
        visibility text NOT NULL,
        title text NOT NULL,
        description text NOT NULL,
        icon_url text NOT NULL,
        readme_url text NOT NULL,
        sdk_version text,
        definition json NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT interface_version UNIQUE (name, workspace_id, version),
        CONSTRAINT interface_visibility_check CHECK (visibility IN ('public', 'private'))
      );
      CREATE INDEX interface_of_workspace ON interface (workspace_id, created_at, id);
      CREATE INDEX interface_public ON interface (created_at, id) WHERE visibility = 'public';

      CREATE TABLE integration (
        id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        version_key text COLLATE "C" NOT NULL,
        is_prerelease boolean NOT NULL,
        dev boolean NOT NULL,
        title text NOT NULL,
        description text NOT NULL,
        url text,
        definition json NOT NULL,
        attributes jsonb,
        sdk_version text,
        layers text[] NOT NULL DEFAULT '{}',
        max_execution_time integer,
        has_code boolean NOT NULL DEFAULT false,
        icon_url text NOT NULL DEFAULT '',
        readme_url text NOT NULL DEFAULT '',
        signing_secret text NOT NULL,
        previous_signing_secret text,
        previous_signing_secret_until timestamptz(3),
        secrets jsonb NOT NULL,
        visibility text NOT NULL,
        was_published boolean NOT NULL DEFAULT false,
        verification_status text NOT NULL DEFAULT 'unapproved',
        lifecycle_status text NOT NULL DEFAULT 'published',
        is_listed boolean NOT NULL DEFAULT false,
        search tsvector NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        action_names text[] NOT NULL DEFAULT '{}',
        CONSTRAINT integration_visibility_check CHECK (visibility IN ('public', 'private', 'unlisted')),
        CONSTRAINT integration_verification_status_check
          CHECK (verification_status IN ('unapproved', 'pending', 'approved', 'rejected')),
        CONSTRAINT integration_lifecycle_status_check CHECK (lifecycle_status IN ('published', 'deprecated'))
      );
      CREATE UNIQUE INDEX integration_name ON integration (workspace_id, name, version) WHERE NOT dev;
      CREATE INDEX integration_workspace ON integration (workspace_id, created_at, id);
      CREATE INDEX integration_published ON integration (name) WHERE NOT dev AND visibility <> 'private';
      CREATE UNIQUE INDEX integration_listed ON integration (name) WHERE is_listed;
      CREATE INDEX integration_search ON integration USING gin (search);
      CREATE INDEX integration_listed_created ON integration (created_at, id) WHERE is_listed;

      CREATE TABLE integration_code (
        integration_id text COLLATE "C" PRIMARY KEY REFERENCES integration ON DELETE CASCADE,
        code text NOT NULL
      );

      CREATE TABLE integration_interface (
        integration_id text COLLATE "C" NOT NULL REFERENCES integration ON DELETE CASCADE,
        alias text COLLATE "C" NOT NULL,
        interface_id text COLLATE "C" NOT NULL CONSTRAINT integration_interface_interface REFERENCES interface,
        name text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        names json NOT NULL,
        PRIMARY KEY (integration_id, alias)
      );
      CREATE INDEX integration_interface_id ON integration_interface (interface_id);

      CREATE TABLE installation_report (
        bot_id text COLLATE "C" PRIMARY KEY,
        revision bigint NOT NULL
      );

      CREATE TABLE installation (
        bot_id text COLLATE "C" NOT NULL REFERENCES installation_report,
        kind text NOT NULL,
        alias text COLLATE "C" NOT NULL,
        entry_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (bot_id, kind, alias),
        CONSTRAINT installation_kind_check CHECK (kind IN ('integration', 'plugin'))
      );
      CREATE INDEX installation_entry ON installation (entry_id);

      CREATE TABLE counter_clock (time bigint NOT NULL);
      -- Allows one row.
      CREATE UNIQUE INDEX counter_clock_one ON counter_clock ((true));
      INSERT INTO counter_clock VALUES (1);

      CREATE TABLE integration_counter (
        integration_id text COLLATE "C" NOT NULL REFERENCES integration ON DELETE CASCADE,
        installs integer NOT NULL,
        views bigint NOT NULL,
        valid_from bigint NOT NULL,
        valid_to bigint NOT NULL DEFAULT 9223372036854775807,
        closed_at timestamptz,
        PRIMARY KEY (integration_id, valid_from)
      );
      CREATE UNIQUE INDEX integration_counter_current ON integration_counter (integration_id)
        WHERE valid_to = 9223372036854775807;
      CREATE INDEX integration_counter_closed ON integration_counter (closed_at) WHERE closed_at IS NOT NULL;

      CREATE TABLE plugin_code (
        hash bytea PRIMARY KEY,
        content text NOT NULL
      );

      CREATE TABLE plugin (
        id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL,
        name text COLLATE "C" NOT NULL,
        version text COLLATE "C" NOT NULL,
        version_key text COLLATE "C" NOT NULL,
        is_prerelease boolean NOT NULL,
        visibility text NOT NULL,
        title text NOT NULL,
        description text NOT NULL,
        icon_url text NOT NULL,
        readme_url text NOT NULL,
        sdk_version text,
        definition json NOT NULL,
        node_code bytea NOT NULL REFERENCES plugin_code,
        browser_code bytea NOT NULL REFERENCES plugin_code,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        CONSTRAINT plugin_version UNIQUE (name, workspace_id, version),
        CONSTRAINT plugin_visibility_check CHECK (visibility IN ('public', 'private', 'unlisted'))
      );
      CREATE INDEX plugin_of_workspace ON plugin (workspace_id, created_at, id);
      CREATE INDEX plugin_public ON plugin (created_at, id) WHERE visibility = 'public';
      CREATE INDEX plugin_node_code ON plugin (node_code);
      CREATE INDEX plugin_browser_code ON plugin (browser_code);

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
    await insertWorkspace(runner);
    await insertChat(runner);
    await insertInterfaces(runner);
  }
}

async function insertWorkspace(runner: QueryRunner): Promise<void> {
  const { id, name, handle } = builtInWorkspace;
  await runner.query('INSERT INTO workspace (id, name, handle, updated_at) VALUES ($1, $2, $3, now())', [
    id,
    name,
    handle,
  ]);
}

async function insertChat(runner: QueryRunner): Promise<void> {
  const { id, name, version, publishedAt, title, description, definition } = chatIntegration;
  const actions = Object.keys(definition.actions);
  await runner.query(
    `INSERT INTO integration (id, workspace_id, name, version, version_key, is_prerelease, dev, title, description,
       definition, signing_secret, secrets, visibility, verification_status, is_listed, search, created_at, updated_at,
       action_names)
     VALUES ($1, $2, $3, $4, $5, false, false, $6, $7, $8, '', '{}', 'public', 'approved', true, $9::tsvector, $10, $10,
       $11)`,
    [
      id,
      builtInWorkspace.id,
      name,
      version,
      versionKey(version),
      title,
      description,
      JSON.stringify(definition),
      searchVector({ name, title, description, actions, interfaces: [] }),
      publishedAt,
      actions,
    ],
  );
}

async function insertInterfaces(runner: QueryRunner): Promise<void> {
  for (const { id, name, version, title, description, definition } of builtInInterfaces) {
    await runner.query(
      `INSERT INTO interface (id, workspace_id, name, version, version_key, is_prerelease, visibility, title,
         description, icon_url, readme_url, definition)
       VALUES ($1, $2, $3, $4, $5, false, 'public', $6, $7, '', '', $8)`,
      [id, builtInWorkspace.id, name, version, versionKey(version), title, description, JSON.stringify(definition)],
    );
  }
}
