import { chatIntegration } from '@parley/contracts/hub/built-in';
import type { MigrationInterface, QueryRunner } from 'typeorm';

export class Counters1700000003011 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Names that a search matches, in addition to the fields of every list.
      ALTER TABLE integration ADD COLUMN action_names text[] NOT NULL DEFAULT '{}';
      CREATE INDEX integration_listed_created ON integration (created_at, id) WHERE is_listed;

      -- Installations of bots, which admin owns and announces by event. The greatest revision of each bot counts.
      CREATE TABLE installation_report (
        bot_id text COLLATE "C" PRIMARY KEY,
        revision bigint NOT NULL
      );
      CREATE TABLE installation (
        bot_id text COLLATE "C" NOT NULL REFERENCES installation_report,
        kind text NOT NULL CHECK (kind IN ('integration', 'plugin')),
        alias text COLLATE "C" NOT NULL,
        -- Version id of the integration or plugin.
        entry_id text COLLATE "C" NOT NULL,
        PRIMARY KEY (bot_id, kind, alias)
      );
      CREATE INDEX installation_entry ON installation (entry_id);

      -- Logical clock with one row. Its lock serialises all changes of counters: changes up to this time are committed.
      CREATE TABLE counter_clock (time bigint NOT NULL);
      CREATE UNIQUE INDEX counter_clock_one ON counter_clock ((true));
      INSERT INTO counter_clock VALUES (1);

      -- Versioned counters for stable pagination of lists that are sorted by them. A version
      -- without a row was neither viewed nor installed. Times are those of the clock above.
      CREATE TABLE integration_counter (
        integration_id text COLLATE "C" NOT NULL REFERENCES integration ON DELETE CASCADE,
        installs integer NOT NULL,
        views bigint NOT NULL,
        valid_from bigint NOT NULL,
        valid_to bigint NOT NULL DEFAULT 9223372036854775807,
        closed_at timestamptz,
        PRIMARY KEY (integration_id, valid_from)
      );
      CREATE UNIQUE INDEX integration_counter_current ON integration_counter (integration_id)
        WHERE valid_to = 9223372036854775807;
      CREATE INDEX integration_counter_closed ON integration_counter (closed_at) WHERE closed_at IS NOT NULL;
    `);
    await runner.query('UPDATE integration SET action_names = $2 WHERE id = $1', [
      chatIntegration.id,
      Object.keys(chatIntegration.definition.actions),
    ]);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE integration_counter, counter_clock, installation, installation_report');
    await runner.query('DROP INDEX integration_listed_created');
    await runner.query('ALTER TABLE integration DROP COLUMN action_names');
  }
}
