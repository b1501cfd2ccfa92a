import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Issues1796200000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE issue (
        bot_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        fingerprint text COLLATE "C" NOT NULL,
        code text NOT NULL,
        category text NOT NULL,
        title text NOT NULL,
        description text NOT NULL,
        grouped_data jsonb NOT NULL,
        events_count integer NOT NULL,
        events jsonb NOT NULL,
        created_at timestamptz(3) NOT NULL,
        last_seen_at timestamptz(3) NOT NULL,
        PRIMARY KEY (bot_id, id)
      );
      CREATE UNIQUE INDEX issue_fingerprint ON issue (bot_id, fingerprint);
      CREATE INDEX issue_of_bot ON issue (bot_id, last_seen_at, id);
      CREATE INDEX issue_seen ON issue (last_seen_at);
    `);
  }
}
