import { eventTables1795392000000 } from '@parley/events/migrations/1795392000000-event-tables';
import { idempotencyTables1795392000000 } from '@parley/persistence/migrations/1795392000000-idempotency-tables';
import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Admin1795392000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(eventTables1795392000000);
    await runner.query(idempotencyTables1795392000000);
    await runner.query(`
      CREATE TABLE account (
        id text COLLATE "C" PRIMARY KEY,
        email text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        display_name text,
        profile_picture text
      );
      -- One account for each email address, in upper or lower case.
      CREATE UNIQUE INDEX account_email ON account (lower(email));

      CREATE TABLE workspace (
        id text COLLATE "C" PRIMARY KEY,
        name text NOT NULL,
        owner_id text COLLATE "C" NOT NULL REFERENCES account,
        handle text,
        about text NOT NULL DEFAULT '',
        profile_picture text NOT NULL DEFAULT '',
        contact_email text NOT NULL DEFAULT '',
        website text NOT NULL DEFAULT '',
        social_accounts jsonb NOT NULL DEFAULT '[]',
        is_public boolean NOT NULL DEFAULT false,
        blocked boolean NOT NULL DEFAULT false,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        is_operators boolean NOT NULL DEFAULT false
      );
      CREATE UNIQUE INDEX workspace_handle ON workspace (handle);
      CREATE INDEX workspace_public ON workspace (created_at, id) WHERE is_public;
      CREATE UNIQUE INDEX workspace_operators ON workspace (is_operators) WHERE is_operators;

      CREATE TABLE workspace_member (
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
        account_id text COLLATE "C" NOT NULL REFERENCES account ON DELETE CASCADE,
        role text NOT NULL CHECK (role IN ('owner', 'administrator', 'manager', 'developer', 'billing', 'viewer')),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        id text COLLATE "C" NOT NULL,
        PRIMARY KEY (workspace_id, account_id)
      );
      CREATE INDEX workspace_member_account ON workspace_member (account_id);
      CREATE UNIQUE INDEX workspace_member_id ON workspace_member (id);
      CREATE INDEX workspace_member_created ON workspace_member (workspace_id, created_at, id);

      CREATE TABLE bot (
        id text COLLATE "C" PRIMARY KEY,
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
        name text NOT NULL,
        description text,
        dev boolean NOT NULL,
        type text NOT NULL,
        url text,
        tags jsonb NOT NULL,
        medias jsonb NOT NULL,
        max_execution_time integer,
        definition jsonb NOT NULL,
        signing_secret text NOT NULL,
        secrets jsonb NOT NULL,
        created_by text COLLATE "C",
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        deployed_at timestamptz(3),
        authentication text,
        blocked boolean NOT NULL DEFAULT false,
        always_alive boolean NOT NULL DEFAULT false,
        layers jsonb NOT NULL DEFAULT '[]',
        version_id text COLLATE "C",
        allowlist text NOT NULL DEFAULT 'ALL_WORKSPACE_USERS'
          CHECK (allowlist IN ('ALL_WORKSPACE_USERS', 'SELECTED_USERS')),
        installation_revision integer NOT NULL DEFAULT 0,
        recurring_events_revision integer NOT NULL DEFAULT 0,
        recurring_bytes bigint NOT NULL DEFAULT 0
      );
      CREATE INDEX bot_created ON bot (workspace_id, created_at, id);
      CREATE INDEX bot_updated ON bot (workspace_id, updated_at, id);

      CREATE TABLE token (
        id text COLLATE "C" PRIMARY KEY,
        kind text NOT NULL,
        hash text NOT NULL UNIQUE,
        preview text NOT NULL,
        note text NOT NULL,
        account_id text COLLATE "C" REFERENCES account ON DELETE CASCADE,
        bot_id text COLLATE "C" REFERENCES bot ON DELETE CASCADE,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        integration_id text COLLATE "C",
        workspace_id text COLLATE "C" REFERENCES workspace ON DELETE CASCADE,
        CONSTRAINT token_kind_check CHECK (kind IN ('pat', 'bak', 'iak')),
        CONSTRAINT token_holder_check CHECK (num_nonnulls(account_id, bot_id, integration_id) = 1),
        CONSTRAINT token_workspace_check CHECK ((integration_id IS NULL) = (workspace_id IS NULL))
      );
      CREATE INDEX token_account ON token (account_id) WHERE account_id IS NOT NULL;
      CREATE INDEX token_bot ON token (bot_id) WHERE bot_id IS NOT NULL;
      CREATE INDEX token_integration ON token (integration_id) WHERE integration_id IS NOT NULL;
      CREATE INDEX token_workspace ON token (workspace_id) WHERE workspace_id IS NOT NULL;

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

      CREATE TABLE usage (
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
        bot_id text COLLATE "C" NOT NULL,
        type text COLLATE "C" NOT NULL,
        day text COLLATE "C" NOT NULL,
        value double precision NOT NULL,
        changed_at timestamptz(3) NOT NULL,
        PRIMARY KEY (workspace_id, type, bot_id, day)
      );
      CREATE INDEX usage_changed ON usage (workspace_id, type, changed_at, bot_id);
      CREATE INDEX usage_day ON usage (workspace_id, type, day, bot_id);

      CREATE TABLE bot_code (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        hash text COLLATE "C" NOT NULL,
        code text NOT NULL,
        PRIMARY KEY (bot_id, hash)
      );

      CREATE TABLE bot_version (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        code_hash text COLLATE "C" NOT NULL,
        position bigint GENERATED ALWAYS AS IDENTITY,
        name text NOT NULL,
        description text,
        FOREIGN KEY (bot_id, code_hash) REFERENCES bot_code ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX bot_version_position ON bot_version (bot_id, position);

      CREATE TABLE bot_allowed_member (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        workspace_id text COLLATE "C" NOT NULL,
        account_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (bot_id, account_id),
        FOREIGN KEY (workspace_id, account_id) REFERENCES workspace_member ON DELETE CASCADE
      );
      CREATE INDEX bot_allowed_member_member ON bot_allowed_member (workspace_id, account_id);

      CREATE TABLE bot_former_signing_secret (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        secret text NOT NULL,
        valid_until timestamptz(3) NOT NULL,
        PRIMARY KEY (bot_id, valid_until, secret)
      );

      CREATE TABLE installation (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        alias text COLLATE "C" NOT NULL,
        integration_id text COLLATE "C" NOT NULL,
        webhook_id text COLLATE "C" NOT NULL UNIQUE,
        enabled boolean NOT NULL,
        configuration_type text,
        configuration text,
        disabled_channels jsonb NOT NULL DEFAULT '[]',
        status text NOT NULL,
        status_reason text,
        identifier text,
        summary jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (bot_id, alias)
      );
      CREATE INDEX installation_integration ON installation (integration_id);

      CREATE TABLE bot_plugin (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        alias text COLLATE "C" NOT NULL,
        plugin_id text COLLATE "C" NOT NULL,
        enabled boolean NOT NULL,
        configuration text NOT NULL,
        interfaces jsonb NOT NULL,
        integrations jsonb NOT NULL,
        summary jsonb NOT NULL,
        definition jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (bot_id, alias)
      );
      CREATE INDEX bot_plugin_plugin ON bot_plugin (plugin_id);

      CREATE TABLE shareable_id (
        id text COLLATE "C" NOT NULL UNIQUE,
        bot_id text COLLATE "C" NOT NULL,
        alias text COLLATE "C" NOT NULL,
        expires_at timestamptz(3) NOT NULL,
        PRIMARY KEY (bot_id, alias),
        FOREIGN KEY (bot_id, alias) REFERENCES installation ON DELETE CASCADE
      );
    `);
  }
}
