import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Admin1700000001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE account (
        id text COLLATE "C" PRIMARY KEY,
        email text NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now()
      );
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
        updated_at timestamptz(3) NOT NULL DEFAULT now()
      );
      CREATE UNIQUE INDEX workspace_handle ON workspace (handle);

      CREATE TABLE workspace_member (
        workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
        account_id text COLLATE "C" NOT NULL REFERENCES account ON DELETE CASCADE,
        role text NOT NULL CHECK (role IN ('owner', 'administrator', 'manager', 'developer', 'billing', 'viewer')),
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (workspace_id, account_id)
      );
      CREATE INDEX workspace_member_account ON workspace_member (account_id);

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
        -- Own states, events, actions, tags and configuration of the bot.
        definition jsonb NOT NULL,
        code text,
        -- Encrypted, like each value of secrets, an object by name.
        signing_secret text NOT NULL,
        secrets jsonb NOT NULL,
        created_by text COLLATE "C",
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        deployed_at timestamptz(3)
      );
      CREATE INDEX bot_created ON bot (workspace_id, created_at, id);
      CREATE INDEX bot_updated ON bot (workspace_id, updated_at, id);

      -- Personal access tokens belong to an account, bot API keys to a bot.
      CREATE TABLE token (
        id text COLLATE "C" PRIMARY KEY,
        kind text NOT NULL CHECK (kind IN ('pat', 'bak')),
        hash text NOT NULL UNIQUE,
        preview text NOT NULL,
        note text NOT NULL,
        account_id text COLLATE "C" REFERENCES account ON DELETE CASCADE,
        bot_id text COLLATE "C" REFERENCES bot ON DELETE CASCADE,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        CHECK (num_nonnulls(account_id, bot_id) = 1)
      );
      CREATE INDEX token_account ON token (account_id) WHERE account_id IS NOT NULL;
      CREATE INDEX token_bot ON token (bot_id) WHERE bot_id IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE token, bot, workspace_member, workspace, account');
  }
}
