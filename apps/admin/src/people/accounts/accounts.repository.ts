import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { isUniqueViolation } from '@parley/persistence/errors';
import type { UpdateAccount } from '@parley/contracts/admin/accounts';
import type { Repository } from 'typeorm';
import { AccountEntity } from './account.entity';

type AccountRow = Pick<AccountEntity, 'id' | 'email'>;

@Injectable()
export class AccountsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(AccountEntity) private readonly accounts: Repository<AccountEntity>,
  ) {}

  /** Throws AlreadyExists when another account has this email address. */
  async insertAccount(tx: Sql, email: string): Promise<AccountRow> {
    const id = randomUUID();
    try {
      await tx.manager.insert(AccountEntity, { id, email });
      return { id, email };
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

  async findById(id: string): Promise<AccountEntity | undefined> {
    return (await this.accounts.findOneBy({ id })) ?? undefined;
  }

  async updateProfile(id: string, change: UpdateAccount): Promise<AccountEntity | undefined> {
    const [row] = await this.database.query<AccountEntity>(
      `UPDATE account SET display_name = coalesce($2, display_name), profile_picture = coalesce($3, profile_picture)
       WHERE id = $1 RETURNING *`,
      [id, change.displayName ?? null, change.profilePicture ?? null],
    );
    return row;
  }

  /**
   * Row lock: blocks new tokens, memberships and preferences of the account until the transaction ends. False when the
   * account is gone.
   */
  async lockById(tx: Transaction, id: string): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM account WHERE id = $1 FOR UPDATE', [id]);
    return rows.length > 0;
  }

  /** Cascades to the account's tokens, memberships and preferences. */
  async deleteById(tx: Transaction, id: string): Promise<void> {
    await tx.manager.delete(AccountEntity, { id });
  }

  /** True when the platform has no account. Advisory lock: concurrent starts wait here until the transaction ends. */
  async lockAndCheckEmpty(tx: Sql): Promise<boolean> {
    await tx.query("SELECT pg_advisory_xact_lock(hashtextextended('admin:bootstrap', 0))");
    return !(await tx.manager.exists(AccountEntity));
  }
}
