import { Injectable } from '@nestjs/common';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import type { ConsoleLinkEntity } from './account.entity';

const validMinutes = 5;

@Injectable()
export class ConsoleRepository {
  constructor(private readonly database: Database) {}

  /** Stores the hash of a code, and returns the time at which it expires. */
  async createLink(sql: Sql, accountId: string, hash: string): Promise<Date> {
    const [row] = await sql.query<Pick<ConsoleLinkEntity, 'valid_until'>>(
      `INSERT INTO console_link (hash, account_id, valid_until)
       VALUES ($1, $2, now() + interval '${validMinutes} minutes') RETURNING valid_until`,
      [hash, accountId],
    );
    return row!.valid_until;
  }

  /** Uses up a code. Concurrent calls wait for each other, and one of them gets the account. Primary key. */
  async useLink(tx: Transaction, hash: string): Promise<string | undefined> {
    const [row] = await tx.query<Pick<ConsoleLinkEntity, 'account_id'>>(
      'DELETE FROM console_link WHERE hash = $1 AND valid_until > now() RETURNING account_id',
      [hash],
    );
    return row?.account_id;
  }

  /** Index console_link_valid_until. */
  async deleteExpired(): Promise<void> {
    await this.database.query('DELETE FROM console_link WHERE valid_until <= now()');
  }
}
