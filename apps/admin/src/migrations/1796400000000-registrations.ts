import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

const columns = `
  ALTER TABLE bot ADD COLUMN chat_webhook_id text COLLATE "C";
  ALTER TABLE installation
    ADD COLUMN family text,
    ADD COLUMN registration_revision integer NOT NULL DEFAULT 0,
    ADD COLUMN is_callable boolean NOT NULL DEFAULT false,
    ADD COLUMN register_schedule text,
    ADD COLUMN register_at timestamptz(3);
  CREATE UNIQUE INDEX installation_identifier ON installation (family, identifier) WHERE identifier IS NOT NULL;
  CREATE INDEX installation_register_at ON installation (register_at) WHERE register_at IS NOT NULL;
`;

const formerInstallations = `
  CREATE TABLE former_installation (
    id text COLLATE "C" PRIMARY KEY,
    bot_id text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    alias text COLLATE "C" NOT NULL,
    integration_id text COLLATE "C" NOT NULL,
    webhook_id text COLLATE "C" NOT NULL,
    configuration_type text,
    configuration text,
    revision integer NOT NULL,
    created_at timestamptz(3) NOT NULL DEFAULT now()
  );
  CREATE INDEX former_installation_bot ON former_installation (bot_id);
  CREATE INDEX former_installation_created ON former_installation (created_at);
`;

/** Earlier versions called no integrations: those with a URL or code stayed pending, and are registered now. */
const pending = `
  UPDATE installation SET is_callable = true, status_reason = NULL, registration_revision = 1
  WHERE enabled AND status = 'registration_pending';
  INSERT INTO outbox (id, subject, data)
  SELECT 'outbox_' || upper(replace(gen_random_uuid()::text, '-', '')), 'admin.registrationsPending',
    jsonb_build_object('botId', bot_id)
  FROM installation WHERE status = 'registration_pending' GROUP BY bot_id;
`;

export class Registrations1796400000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(columns);
    await runner.query(formerInstallations);
    await runner.query(pending);
  }
}
