import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { AccountCaller } from '@parley/contracts/access';
import type {
  AccountProfileReply,
  AccountReply,
  AccountToken,
  CreateAccount,
  CreateAccountToken,
  UpdateAccount,
} from '@parley/contracts/admin/accounts';
import { admin } from '@parley/contracts/admin/admin';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import { ApiError, notFound, unavailable } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { AuditRepository } from '../access/audit.repository';
import { TokensService } from '../access/tokens.service';
import { QuotasService } from '../usage/quotas.service';
import { WorkspacesRepository } from '../workspaces/workspaces.repository';
import { WorkspacesService } from '../workspaces/workspaces.service';
import { type AccountEntity, toProfile } from './account.entity';
import { AccountsRepository } from './accounts.repository';

/** Length limit of a workspace name, as in its contract. */
const maxNameLength = 64;

@Injectable()
export class AccountsService {
  constructor(
    private readonly database: Database,
    private readonly accounts: AccountsRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly tokens: TokensService,
    private readonly workspacesService: WorkspacesService,
    private readonly quotas: QuotasService,
    private readonly audit: AuditRepository,
    private readonly client: ParleyClient,
  ) {}

  async get({ account }: AccountCaller): Promise<AccountProfileReply> {
    return reply(account.id, await this.accounts.findById(account.id));
  }

  async update({ account }: AccountCaller, change: UpdateAccount): Promise<AccountProfileReply> {
    return reply(account.id, await this.accounts.updateProfile(account.id, change));
  }

  /** Lock order: workspaces before the account, as in every other operation, which rules out deadlocks. */
  async delete(caller: AccountCaller) {
    const { id } = caller.account;
    await this.database.transaction(async (tx) => {
      const locked = await this.workspaces.lockAllOfMember(tx, id);
      if (!(await this.accounts.lockById(tx, id))) throw notFound('account', id);
      const memberships = await this.workspaces.listForLeaving(tx, id);
      if (memberships.some((workspace) => !locked.includes(workspace.id))) {
        throw unavailable('The account joined a workspace during this request. Try again.');
      }
      const needed = memberships.find(({ alone, only_owner, has_bots }) => only_owner && (!alone || has_bots));
      if (needed) throw stillNeeded(needed.id);
      for (const workspace of memberships) {
        if (workspace.alone) await this.workspacesService.close(tx, caller, admin.accounts.delete, workspace);
        else {
          await this.audit.insertChange(tx, caller, {
            workspaceId: workspace.id,
            action: 'REMOVE_WORKSPACE_MEMBER',
            operation: admin.accounts.delete,
            resourceId: workspace.member_id,
            resourceName: caller.account.email,
          });
        }
      }
      await this.workspaces.reassignOwnedBy(tx, id);
      await this.accounts.deleteById(tx, id);
      for (const workspace of memberships.filter(({ alone }) => !alone)) {
        await this.quotas.recount(tx, workspace.id, 'workspace_member_count');
      }
    });
    this.client.broadcast(credentialsChanged, { reason: `account ${id} was deleted` });
    return {};
  }

  create({ email }: CreateAccount): Promise<AccountReply> {
    return this.database.transaction(async (tx) => {
      const account = await this.accounts.insertAccount(tx, email);
      const workspaceId = await this.workspaces.insertWithOwner(tx, account.id, {
        name: `${email}'s workspace`.slice(0, maxNameLength),
      });
      return { ...account, workspaceId };
    });
  }

  async createToken({ email, note }: CreateAccountToken): Promise<AccountToken> {
    const account = await this.accounts.findByEmail(email);
    if (!account) throw noSuchAccount(email);
    const { value } = await this.tokens.issue(account.id, note ?? 'made by command');
    return { value };
  }
}

export function noSuchAccount(email: string): ApiError {
  return new ApiError('ReferenceNotFound', `email: no account has "${email}". Create the account first.`);
}

function reply(id: string, row: AccountEntity | undefined): AccountProfileReply {
  if (!row) throw notFound('account', id);
  return { account: toProfile(row) };
}

function stillNeeded(workspaceId: string): ApiError {
  return new ApiError(
    'ReferenceConstraint',
    `Cannot delete the account: it is the only owner of workspace "${workspaceId}", which has other members or bots. ` +
      'Make another member an owner, or delete the other members and bots.',
  );
}
