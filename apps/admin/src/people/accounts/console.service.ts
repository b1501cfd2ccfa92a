import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type {
  ConsoleLink,
  ConsoleSession,
  CreateConsoleLink,
  CreateConsoleSession,
} from '@parley/contracts/admin/console';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { hashToken, newToken } from '@parley/secrets/token';
import { Every } from '@parley/work-queue/worker';
import { AccountsRepository } from './accounts.repository';
import { noSuchAccount } from './accounts.service';
import { AdminConfig } from '../../config';
import { TokensRepository } from '../access/tokens.repository';
import { ConsoleRepository } from './console.repository';

const codeBytes = 20;
const sessionHours = 12;
const cleanMs = 3_600_000;

/** Sign-in to the console: single-use links, exchanged for personal access tokens that expire. */
@Injectable()
export class ConsoleService {
  constructor(
    private readonly database: Database,
    private readonly links: ConsoleRepository,
    private readonly accounts: AccountsRepository,
    private readonly tokens: TokensRepository,
    private readonly config: AdminConfig,
  ) {}

  async createLink({ email = this.config.bootstrapEmail }: CreateConsoleLink): Promise<ConsoleLink> {
    const code = randomBytes(codeBytes).toString('base64url');
    const expiresAt = await this.database.transaction(async (tx) => {
      const account = await this.accounts.lockByEmail(tx, email);
      if (!account) throw noSuchAccount(email);
      return this.links.createLink(tx, account.id, hashToken(code));
    });
    const base = this.config.publicUrl.replace(/\/$/, '');
    return { url: `${base}/console#code=${code}`, expiresAt: expiresAt.toISOString() };
  }

  async createSession({ code }: CreateConsoleSession): Promise<ConsoleSession> {
    const token = newToken('pat');
    const row = await this.database.transaction(async (tx) => {
      const accountId = await this.links.useLink(tx, hashToken(code));
      if (accountId === undefined) throw invalidCode();
      return this.tokens.createOfAccount(tx, accountId, 'Console', token, sessionHours);
    });
    return { tokenId: row.id, token, expiresAt: row.valid_until!.toISOString() };
  }

  /** Safe to run in several processes. */
  @Every({ name: 'admin.expiredSessions', everyMs: cleanMs })
  async deleteExpired(): Promise<void> {
    await this.links.deleteExpired();
    await this.tokens.deleteExpiredOfAccounts();
  }
}

function invalidCode(): ApiError {
  return new ApiError(
    'Unauthorized',
    'The code of this link is unknown, was used already or has expired. Print a new link: npm run parley -- console link',
  );
}
