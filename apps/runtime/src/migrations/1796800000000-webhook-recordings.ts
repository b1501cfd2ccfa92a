import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

export class WebhookRecordings1796800000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE webhook_recording (
        id text COLLATE "C" PRIMARY KEY,
        webhook_id text COLLATE "C" NOT NULL UNIQUE,
        bot_id text COLLATE "C" NOT NULL,
        key text NOT NULL
      );
      CREATE INDEX webhook_recording_bot ON webhook_recording (bot_id);
      CREATE TABLE recorded_request (
        recording_id text COLLATE "C" NOT NULL REFERENCES webhook_recording (id) ON DELETE CASCADE,
        id text COLLATE "C" NOT NULL,
        received_at timestamptz(3) NOT NULL,
        method text NOT NULL,
        status integer NOT NULL,
        body_bytes integer NOT NULL,
        head text NOT NULL,
        body text,
        PRIMARY KEY (recording_id, id)
      );
      CREATE INDEX recorded_request_received ON recorded_request (received_at);
    `);
  }
}
