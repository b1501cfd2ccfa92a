import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Sql } from '@parley/database/database';
import { isUniqueViolation } from '@parley/database/errors';

interface AccountRow {
  id: string;
  email: string;
}

@Injectable()
export class AccountsRepository {
  constructor(private readonly database: Database) {}

  /** Throws AlreadyExists when the address has an account. */
  async create(tx: Sql, email: string): Promise<AccountRow> {
    try {
      const [row] = await tx.query<AccountRow>('INSERT INTO account (id, email) VALUES ($1, $2) RETURNING id, email', [
        randomUUID(),
        email,
      ]);
      return row!;
    } catch (error) {
      if (!isUniqueViolation(error, 'account_email')) throw error;
      throw new ApiError('AlreadyExists', `email "${email}" has an account already.`);
    }
  }

  async findByEmail(email: string): Promise<AccountRow | undefined> {
    const [row] = await this.database.query<AccountRow>(
      'SELECT id, email FROM account WHERE lower(email) = lower($1)',
      [email],
    );
    return row;
  }

  /** True when the platform has no account yet. Other starts that ask wait until this transaction ends. */
  async lockAndCheckEmpty(tx: Sql): Promise<boolean> {
    await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('admin:bootstrap', 0))");
    const [row] = await tx.query<{ empty: boolean }>('SELECT NOT EXISTS (SELECT 1 FROM account) AS empty');
    return row!.empty;
  }
}
