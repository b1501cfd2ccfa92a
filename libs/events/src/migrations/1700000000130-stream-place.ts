import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Stores the stream position of the last published event, so that the relay can check whether the stream still has it. */
export class StreamPlace1700000000130 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE outbox_stream;
      CREATE TABLE outbox_place (
        singleton boolean PRIMARY KEY CHECK (singleton),
        sequence bigint NOT NULL,
        message_id text NOT NULL
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE outbox_place;
      CREATE TABLE outbox_stream (
        singleton boolean PRIMARY KEY CHECK (singleton),
        created_at text NOT NULL,
        last_sequence bigint NOT NULL
      );
    `);
  }
}
