import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

/** Nothing handled pending events before. Those of the last hour are announced when admin names the bots that are called. */
const ignorePendingEvents = `
  UPDATE event SET status = 'ignored', failure_reason = 'Created before Parley called bots.'
  WHERE status = 'pending' AND greatest(created_at, due_at) < now() - interval '1 hour';
`;

const calledBots = `
  CREATE TABLE called_bot (
    bot_id text COLLATE "C" PRIMARY KEY,
    is_called boolean NOT NULL,
    revision bigint NOT NULL
  );
`;

const boundWorkflows = `
  CREATE INDEX workflow_bound ON workflow (bot_id, event_id) WHERE status = 'in_progress';
`;

const replays = `
  ALTER TABLE event ADD COLUMN replays smallint NOT NULL DEFAULT 0;
`;

export class Deliveries1796100000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(ignorePendingEvents);
    await runner.query(calledBots);
    await runner.query(boundWorkflows);
    await runner.query(replays);
  }
}
