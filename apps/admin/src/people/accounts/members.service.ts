import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import { requirePermission, type WorkspaceCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import type {
  CreateWorkspaceMember,
  UpdateWorkspaceMember,
  WorkspaceMember,
  WorkspaceMemberId,
  WorkspaceMembers,
} from '@parley/contracts/admin/members';
import type { Role } from '@parley/contracts/caller';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { PageQuery } from '@parley/contracts/paging';
import { Database, type Transaction } from '@parley/persistence/database';
import { AccountsRepository } from './accounts.repository';
import { AuditRepository } from '../access/audit.repository';
import { QuotasService } from '../usage/quotas.service';
import { MembersRepository, toMember } from './members.repository';
import { RolesRepository } from '../access/roles.repository';
import { WorkspacesRepository } from '../workspaces/workspaces.repository';

/**
 * Members of a workspace. Changes hold the workspace lock and read the caller's role again, so that one owner always
 * remains.
 */
@Injectable()
export class MembersService {
  constructor(
    private readonly database: Database,
    private readonly members: MembersRepository,
    private readonly roles: RolesRepository,
    private readonly workspaces: WorkspacesRepository,
    private readonly accounts: AccountsRepository,
    private readonly quotas: QuotasService,
    private readonly audit: AuditRepository,
    private readonly client: ParleyClient,
  ) {}

  async list({ workspace }: WorkspaceCaller, query: PageQuery): Promise<WorkspaceMembers> {
    const { rows, nextToken } = await this.members.listNewestOfWorkspace(workspace.id, query);
    return { members: rows.map(toMember), meta: { nextToken } };
  }

  async getOwn({ workspace, account }: WorkspaceCaller): Promise<WorkspaceMember> {
    const row = account && (await this.members.findByAccount(workspace.id, account.id));
    if (!row) throw notFound('member', 'me');
    return toMember(row);
  }

  async create(caller: WorkspaceCaller, { email, role }: CreateWorkspaceMember): Promise<WorkspaceMember> {
    const { workspace } = caller;
    const member = await this.database.transaction(async (tx) => {
      const callerRole = await this.lockAndGetRole(tx, caller);
      requirePermission(callerRole, 'administer');
      if (role === 'owner') requireOwner(callerRole);
      const account = await this.accounts.lockByEmail(tx, email);
      if (!account)
        throw new ApiError(
          'ReferenceNotFound',
          `email: no account has "${email}". The operator must create the account first.`,
        );
      await this.quotas.admit(tx, workspace.id, 'workspace_member_count');
      const id = await this.members.insertMember(tx, workspace.id, account.id, email, role);
      await this.audit.insertChange(tx, caller, {
        workspaceId: workspace.id,
        action: 'ADD_WORKSPACE_MEMBER',
        operation: admin.members.create,
        resourceId: id,
        resourceName: account.email,
        value: role,
      });
      return toMember((await this.members.findById(tx, workspace.id, id))!);
    });
    this.client.broadcast(credentialsChanged, { reason: `${member.id} was added` });
    return member;
  }

  async update(caller: WorkspaceCaller, { id, role }: UpdateWorkspaceMember): Promise<WorkspaceMember> {
    const { workspace } = caller;
    const member = await this.database.transaction(async (tx) => {
      const callerRole = await this.lockAndGetRole(tx, caller);
      requirePermission(callerRole, 'administer');
      const before = await this.members.findById(tx, workspace.id, id);
      if (!before) throw notFound('member', id);
      if (role === undefined || role === before.role) return before;
      if (role === 'owner' || before.role === 'owner') requireOwner(callerRole);
      await this.members.updateRole(tx, workspace.id, id, role);
      await this.members.ensureOwner(tx, workspace.id);
      await this.audit.insertChange(tx, caller, {
        workspaceId: workspace.id,
        action: 'UPDATE_WORKSPACE_MEMBER',
        operation: admin.members.update,
        resourceId: id,
        resourceName: before.email,
        value: role,
      });
      return { ...before, role };
    });
    this.client.broadcast(credentialsChanged, { reason: `the role of ${id} was changed` });
    return toMember(member);
  }

  async delete(caller: WorkspaceCaller, { id }: WorkspaceMemberId) {
    const { workspace, account } = caller;
    await this.database.transaction(async (tx) => {
      const callerRole = await this.lockAndGetRole(tx, caller);
      const member = await this.members.findById(tx, workspace.id, id);
      if (member?.account_id !== account?.id) requirePermission(callerRole, 'administer');
      if (!member) throw notFound('member', id);
      if (member.role === 'owner') requireOwner(callerRole);
      await this.members.deleteById(tx, workspace.id, id);
      await this.quotas.recount(tx, workspace.id, 'workspace_member_count');
      await this.members.ensureOwner(tx, workspace.id);
      await this.audit.insertChange(tx, caller, {
        workspaceId: workspace.id,
        action: 'REMOVE_WORKSPACE_MEMBER',
        operation: admin.members.delete,
        resourceId: id,
        resourceName: member.email,
      });
    });
    this.client.broadcast(credentialsChanged, { reason: `${id} was removed` });
    return {};
  }

  /** Reads the caller's role under the workspace lock, so that it cannot change until the transaction ends. */
  private async lockAndGetRole(tx: Transaction, caller: WorkspaceCaller): Promise<Role> {
    await this.workspaces.lockById(tx, caller.workspace.id);
    return this.roles.requireRole(tx, caller, caller.workspace.id, 'belong');
  }
}

function requireOwner(role: Role): void {
  if (role !== 'owner')
    throw new ApiError('Forbidden', 'Only an owner of the workspace may add, change or remove owners.');
}
