import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { isUniqueViolation } from '@parley/persistence/errors';
import type { UpdateAccount } from '@parley/contracts/admin/accounts';
import type { ProfileRow } from './account.entity';

interface AccountRow {
  id: string;
  email: string;
}

const profileColumns = 'id, email, display_name, profile_picture, created_at';

@Injectable()
export class AccountsRepository {
  constructor(private readonly database: Database) {}

  /** Throws AlreadyExists when another account has this email address. */
  async create(tx: Sql, email: string): Promise<AccountRow> {
    try {
      const [row] = await tx.query<AccountRow>('INSERT INTO account (id, email) VALUES ($1, $2) RETURNING id, email', [
        randomUUID(),
        email,
      ]);
      return row!;
    } catch (error) {
      if (!isUniqueViolation(error, 'account_email')) throw error;
      throw new ApiError('AlreadyExists', `email: an account with "${email}" exists already.`);
    }
  }

  async findByEmail(email: string): Promise<AccountRow | undefined> {
    const [row] = await this.database.query<AccountRow>(
      'SELECT id, email FROM account WHERE lower(email) = lower($1)',
      [email],
    );
    return row;
  }

  /** Finds the account and locks its row (`FOR KEY SHARE`) against deletion until the transaction ends. */
  async lockByEmail(tx: Transaction, email: string): Promise<AccountRow | undefined> {
    const [row] = await tx.query<AccountRow>(
      'SELECT id, email FROM account WHERE lower(email) = lower($1) FOR KEY SHARE',
      [email],
    );
    return row;
  }

  async findProfile(id: string): Promise<ProfileRow | undefined> {
    const [row] = await this.database.query<ProfileRow>(`SELECT ${profileColumns} FROM account WHERE id = $1`, [id]);
    return row;
  }

  async updateProfile(id: string, change: UpdateAccount): Promise<ProfileRow | undefined> {
    const [row] = await this.database.query<ProfileRow>(
      `UPDATE account SET display_name = coalesce($2, display_name), profile_picture = coalesce($3, profile_picture)
       WHERE id = $1 RETURNING ${profileColumns}`,
      [id, change.displayName ?? null, change.profilePicture ?? null],
    );
    return row;
  }

  /**
   * Row lock: blocks new tokens, memberships and preferences of the account until the transaction ends. False when the
   * account is gone.
   */
  async lock(tx: Transaction, id: string): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM account WHERE id = $1 FOR UPDATE', [id]);
    return rows.length > 0;
  }

  /** Cascades to the account's tokens, memberships and preferences. */
  async delete(tx: Transaction, id: string): Promise<void> {
    await tx.query('DELETE FROM account WHERE id = $1', [id]);
  }

  /** True when the platform has no account. Advisory lock: concurrent starts wait here until the transaction ends. */
  async lockAndCheckEmpty(tx: Sql): Promise<boolean> {
    await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('admin:bootstrap', 0))");
    const [row] = await tx.query<{ empty: boolean }>('SELECT NOT EXISTS (SELECT 1 FROM account) AS empty');
    return row!.empty;
  }
}
