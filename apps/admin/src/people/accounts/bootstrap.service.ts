import { Injectable, type OnModuleInit } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { AdminConfig } from '../../config';
import { TokensRepository } from '../access/tokens.repository';
import { WorkspacesRepository } from '../workspaces/workspaces.repository';
import { AccountsRepository } from './accounts.repository';

const defaultHandle = 'default';

/**
 * Bootstrap: creates the first account, its workspace and its token when the platform has no account. Safe for
 * concurrent starts.
 */
@Injectable()
export class BootstrapService implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly accounts: AccountsRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly tokens: TokensRepository,
    private readonly config: AdminConfig,
  ) {}

  async onModuleInit(): Promise<void> {
    const { bootstrapEmail, bootstrapToken } = this.config;
    await this.database.transaction(async (tx) => {
      if (!(await this.accounts.lockAndCheckEmpty(tx))) return;
      const account = await this.accounts.insertAccount(tx, bootstrapEmail);
      await this.workspaces.insertWithOwner(tx, account.id, {
        name: 'Default',
        handle: defaultHandle,
        isOperators: true,
      });
      await this.tokens.createOfAccount(tx, account.id, 'first token', bootstrapToken);
    });
  }
}
