import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tables for published and received events, in every service. */
export class Outbox1700000000100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE outbox (
        id text COLLATE "C" PRIMARY KEY,
        subject text NOT NULL,
        data jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        published_at timestamptz
      );
      CREATE INDEX outbox_unpublished ON outbox (id) WHERE published_at IS NULL;
      CREATE INDEX outbox_published ON outbox (published_at) WHERE published_at IS NOT NULL;

      -- Last state of the event stream that the relay saw: one row.
      CREATE TABLE outbox_stream (
        singleton boolean PRIMARY KEY CHECK (singleton),
        created_at text NOT NULL,
        last_sequence bigint NOT NULL
      );

      CREATE TABLE inbox (
        consumer text NOT NULL,
        event_id text COLLATE "C" NOT NULL,
        received_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (consumer, event_id)
      );
      CREATE INDEX inbox_received ON inbox (received_at);

      CREATE TABLE dead_letter (
        id text COLLATE "C" PRIMARY KEY,
        consumer text NOT NULL,
        event_id text COLLATE "C" NOT NULL,
        subject text NOT NULL,
        data jsonb NOT NULL,
        attempts integer NOT NULL,
        reason text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (consumer, event_id)
      );
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE outbox, outbox_stream, inbox, dead_letter');
  }
}
