import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

const settings = `
  CREATE TABLE webchat_settings (
    bot_id text COLLATE "C" PRIMARY KEY REFERENCES bot ON DELETE CASCADE,
    settings jsonb NOT NULL
  );
`;

export class WebchatSettings1796600000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(settings);
  }
}
