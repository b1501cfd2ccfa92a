import type { MigrationInterface, QueryRunner } from 'typeorm';

export class BotSettings1700000001040 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE bot
        ADD authentication text,
        ADD blocked boolean NOT NULL DEFAULT false,
        ADD always_alive boolean NOT NULL DEFAULT false,
        ADD layers jsonb NOT NULL DEFAULT '[]';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE bot DROP authentication, DROP blocked, DROP always_alive, DROP layers');
  }
}
