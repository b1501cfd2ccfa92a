import type { MigrationInterface, QueryRunner } from 'typeorm';

export class ShareableIds1700000001061 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- At most one id for each installation.
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

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE shareable_id');
  }
}
