import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Stored answers of requests with an idempotency key. */
export class IdempotencyKeys1700000000140 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE idempotency_key (
        scope text COLLATE "C" NOT NULL,
        operation text COLLATE "C" NOT NULL,
        key text COLLATE "C" NOT NULL,
        -- Whose answer is erased with the bot.
        bot_id text COLLATE "C",
        body_hash bytea NOT NULL,
        -- As text, which keeps the order of its fields.
        answer text,
        is_final boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (scope, operation, key)
      );
      CREATE INDEX idempotency_key_created ON idempotency_key (created_at);
      CREATE INDEX idempotency_key_of_bot ON idempotency_key (bot_id, scope, operation, key) WHERE bot_id IS NOT NULL;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE idempotency_key');
  }
}
