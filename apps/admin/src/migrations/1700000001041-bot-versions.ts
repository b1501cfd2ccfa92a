import type { MigrationInterface, QueryRunner } from 'typeorm';

export class BotVersions1700000001041 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Code in a table of its own, since it may be large; one row for each content.
      CREATE TABLE bot_code (
        bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
        -- SHA-256, in hex.
        hash text COLLATE "C" NOT NULL,
        code text NOT NULL,
        PRIMARY KEY (bot_id, hash)
      );

      CREATE TABLE bot_version (
        id text COLLATE "C" PRIMARY KEY,
        bot_id text COLLATE "C" NOT NULL,
        code_hash text COLLATE "C" NOT NULL,
        -- Increases with each version of a bot; versions are created one at a time.
        position bigint GENERATED ALWAYS AS IDENTITY,
        name text NOT NULL,
        description text,
        FOREIGN KEY (bot_id, code_hash) REFERENCES bot_code ON DELETE CASCADE
      );
      CREATE UNIQUE INDEX bot_version_position ON bot_version (bot_id, position);

      -- The deployed version. Never deleted while it is deployed.
      ALTER TABLE bot ADD version_id text COLLATE "C";

      INSERT INTO bot_code (bot_id, hash, code)
        SELECT id, encode(sha256(convert_to(code, 'UTF8')), 'hex'), code FROM bot WHERE code IS NOT NULL;
      INSERT INTO bot_version (id, bot_id, code_hash, name)
        SELECT 'botver_0' || upper(left(replace(gen_random_uuid()::text, '-', ''), 25)), bot_id, hash,
          to_char(coalesce(bot.deployed_at, bot.created_at) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
        FROM bot_code JOIN bot ON bot.id = bot_id;
      UPDATE bot SET version_id = bot_version.id FROM bot_version WHERE bot_version.bot_id = bot.id;
      ALTER TABLE bot DROP code;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE bot ADD code text;
      UPDATE bot SET code = bot_code.code FROM bot_version JOIN bot_code
        ON bot_code.bot_id = bot_version.bot_id AND bot_code.hash = bot_version.code_hash
        WHERE bot_version.id = bot.version_id;
      ALTER TABLE bot DROP version_id;
      DROP TABLE bot_version, bot_code;
    `);
  }
}
