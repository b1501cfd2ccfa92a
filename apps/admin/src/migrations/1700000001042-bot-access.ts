import type { MigrationInterface, QueryRunner } from 'typeorm';

export class BotAccess1700000001042 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE bot ADD allowlist text NOT NULL DEFAULT 'ALL_WORKSPACE_USERS'
        CHECK (allowlist IN ('ALL_WORKSPACE_USERS', 'SELECTED_USERS'));

      -- Allowlist: members who may see a bot for selected users. Cascades when a member leaves the workspace.
      CREATE TABLE bot_allowed_member (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        workspace_id text COLLATE "C" NOT NULL,
        account_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (bot_id, account_id),
        FOREIGN KEY (workspace_id, account_id) REFERENCES workspace_member ON DELETE CASCADE
      );
      CREATE INDEX bot_allowed_member_member ON bot_allowed_member (workspace_id, account_id);

      -- Former signing secrets that are still valid. Encrypted.
      CREATE TABLE bot_former_signing_secret (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        secret text NOT NULL,
        valid_until timestamptz(3) NOT NULL,
        PRIMARY KEY (bot_id, valid_until, secret)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE bot_former_signing_secret, bot_allowed_member; ALTER TABLE bot DROP allowlist');
  }
}
