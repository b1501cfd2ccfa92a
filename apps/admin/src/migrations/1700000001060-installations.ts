import { newId } from '@parley/persistence/ids';
import type { MigrationInterface, QueryRunner } from 'typeorm';
import { builtInChat, chatAlias } from '../installations/built-in-chat';

export class Installations1700000001060 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Increases with every change of the bot's installations.
      ALTER TABLE bot ADD COLUMN installation_revision integer NOT NULL DEFAULT 0;

      CREATE TABLE installation (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        alias text COLLATE "C" NOT NULL,
        integration_id text COLLATE "C" NOT NULL,
        webhook_id text COLLATE "C" NOT NULL UNIQUE,
        enabled boolean NOT NULL,
        configuration_type text,
        -- Encrypted JSON; NULL when there is no configuration.
        configuration text,
        disabled_channels jsonb NOT NULL DEFAULT '[]',
        status text NOT NULL,
        status_reason text,
        identifier text,
        -- Summary of the integration in the hub as of its last change.
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
        -- Encrypted JSON.
        configuration text NOT NULL,
        -- Installation bound to each interface and integration that the plugin depends on.
        interfaces jsonb NOT NULL,
        integrations jsonb NOT NULL,
        summary jsonb NOT NULL,
        -- States, events, actions and tags, with the references to entities resolved.
        definition jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL DEFAULT now(),
        updated_at timestamptz(3) NOT NULL DEFAULT now(),
        PRIMARY KEY (bot_id, alias)
      );
      CREATE INDEX bot_plugin_plugin ON bot_plugin (plugin_id);

      -- Integration API keys belong to an integration of a workspace; the hub owns the integration.
      ALTER TABLE token ADD COLUMN integration_id text COLLATE "C",
        ADD COLUMN workspace_id text COLLATE "C" REFERENCES workspace ON DELETE CASCADE,
        DROP CONSTRAINT token_kind_check, DROP CONSTRAINT token_check,
        ADD CONSTRAINT token_kind_check CHECK (kind IN ('pat', 'bak', 'iak')),
        ADD CONSTRAINT token_holder_check CHECK (num_nonnulls(account_id, bot_id, integration_id) = 1),
        ADD CONSTRAINT token_workspace_check CHECK ((integration_id IS NULL) = (workspace_id IS NULL));
      CREATE INDEX token_integration ON token (integration_id) WHERE integration_id IS NOT NULL;
      CREATE INDEX token_workspace ON token (workspace_id) WHERE workspace_id IS NOT NULL;
    `);
    await installChat(runner);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM token WHERE kind = 'iak';
      ALTER TABLE token DROP COLUMN integration_id, DROP COLUMN workspace_id, DROP CONSTRAINT token_kind_check,
        ADD CONSTRAINT token_kind_check CHECK (kind IN ('pat', 'bak')),
        ADD CONSTRAINT token_check CHECK (num_nonnulls(account_id, bot_id) = 1);
      DROP TABLE installation, bot_plugin;
      ALTER TABLE bot DROP COLUMN installation_revision;
    `);
  }
}

async function installChat(runner: QueryRunner): Promise<void> {
  const bots = (await runner.query('UPDATE bot SET installation_revision = 1 RETURNING id, workspace_id')) as [
    { id: string; workspace_id: string }[],
    number,
  ];
  for (const { id, workspace_id } of bots[0]) {
    await runner.query(
      `INSERT INTO installation (bot_id, alias, integration_id, webhook_id, enabled, status, summary)
       VALUES ($1, $2, $3, $4, true, 'registered', $5)`,
      [id, chatAlias, builtInChat.id, newId('webhook'), builtInChat],
    );
    await runner.query("INSERT INTO outbox (id, subject, data) VALUES ($1, 'admin.installationsChanged', $2)", [
      newId('outbox'),
      {
        botId: id,
        workspaceId: workspace_id,
        revision: 1,
        integrations: [{ alias: chatAlias, id: builtInChat.id }],
        plugins: [],
      },
    ]);
  }
}
