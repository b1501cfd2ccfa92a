import { Injectable } from '@nestjs/common';
import type { AccountReply, AccountToken, CreateAccount, CreateAccountToken } from '@parley/contracts/admin/accounts';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/database/database';
import { TokensService } from '../tokens/tokens.service';
import { WorkspacesRepository } from '../workspaces/workspaces.repository';
import { AccountsRepository } from './accounts.repository';

/** Of a workspace's name, as its contract has it. */
const maxNameLength = 64;

@Injectable()
export class AccountsService {
  constructor(
    private readonly database: Database,
    private readonly accounts: AccountsRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly tokens: TokensService,
  ) {}

  create({ email }: CreateAccount): Promise<AccountReply> {
    return this.database.transaction(async (tx) => {
      const account = await this.accounts.create(tx, email);
      const workspaceId = await this.workspaces.create(tx, account.id, {
        name: `${email}'s workspace`.slice(0, maxNameLength),
      });
      return { ...account, workspaceId };
    });
  }

  async createToken({ email, note }: CreateAccountToken): Promise<AccountToken> {
    const account = await this.accounts.findByEmail(email);
    if (!account) throw new ApiError('ReferenceNotFound', `email "${email}" has no account: create one first.`);
    const { value } = await this.tokens.issue(account.id, note ?? 'made by command');
    return { value };
  }
}
