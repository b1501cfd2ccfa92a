import type { Migration } from '@parley/persistence/service-schema';
import type { QueryRunner } from 'typeorm';

const links = `
  CREATE TABLE console_link (
    hash text PRIMARY KEY,
    account_id text COLLATE "C" NOT NULL REFERENCES account ON DELETE CASCADE,
    valid_until timestamptz(3) NOT NULL
  );
  CREATE INDEX console_link_account ON console_link (account_id);
  CREATE INDEX console_link_valid_until ON console_link (valid_until);
  CREATE INDEX token_valid_until ON token (valid_until) WHERE valid_until IS NOT NULL;
`;

export class ConsoleLinks1796500000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(links);
  }
}
