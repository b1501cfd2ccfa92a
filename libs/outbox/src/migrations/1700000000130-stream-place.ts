import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of the event stream the relay remembers where it keeps the last of its events, to ask for just that one. */
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
