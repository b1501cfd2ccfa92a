import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class Analytics1796200000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE analytics_count (
        bot_id text COLLATE "C" NOT NULL,
        day date NOT NULL,
        name text COLLATE "C" NOT NULL,
        count bigint NOT NULL,
        PRIMARY KEY (bot_id, day, name)
      );
      CREATE INDEX analytics_count_day ON analytics_count (day);

      CREATE TABLE observation (
        bot_id text COLLATE "C" NOT NULL,
        id text COLLATE "C" NOT NULL,
        integration_alias text COLLATE "C",
        name text COLLATE "C" NOT NULL,
        caller_id text COLLATE "C",
        data jsonb NOT NULL,
        message_id text COLLATE "C",
        event_id text COLLATE "C",
        conversation_id text COLLATE "C",
        user_id text COLLATE "C",
        error_id text COLLATE "C",
        trace_id text COLLATE "C",
        created_at timestamptz(3) NOT NULL,
        PRIMARY KEY (bot_id, id)
      );
      CREATE INDEX observation_conversation ON observation (bot_id, conversation_id, id) WHERE conversation_id IS NOT NULL;
      CREATE INDEX observation_trace ON observation (bot_id, trace_id, id) WHERE trace_id IS NOT NULL;
      CREATE INDEX observation_created ON observation (created_at);
    `);
  }
}
