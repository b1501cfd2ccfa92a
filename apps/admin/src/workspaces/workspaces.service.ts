import { Injectable } from '@nestjs/common';
import { type AccountCaller, hasPermission } from '@parley/contracts/access';
import type {
  CreateWorkspace,
  ListWorkspaces,
  UpdateWorkspace,
  WorkspaceId,
  Workspaces,
} from '@parley/contracts/admin/workspaces';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database, type Sql } from '@parley/database/database';
import { toWorkspace } from './workspace.entity';
import { WorkspacesRepository } from './workspaces.repository';

@Injectable()
export class WorkspacesService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesRepository,
  ) {}

  /** The answer is read before the commit, as that of `update` is: an error says that nothing was done. */
  create(caller: AccountCaller, { name }: CreateWorkspace) {
    return this.database.transaction(async (tx) => {
      const id = await this.workspaces.create(tx, caller.account.id, { name });
      return toWorkspace(await this.getOfMember(tx, caller, id));
    });
  }

  async get(caller: AccountCaller, { id }: WorkspaceId) {
    return toWorkspace(await this.getOfMember(this.database, caller, id));
  }

  async list({ account }: AccountCaller, query: ListWorkspaces): Promise<Workspaces> {
    const { rows, nextToken } = await this.workspaces.listOfMember(account.id, query);
    return { workspaces: rows.map(toWorkspace), meta: { nextToken } };
  }

  update(caller: AccountCaller, input: UpdateWorkspace) {
    return this.database.transaction(async (tx) => {
      const { role } = await this.getOfMember(tx, caller, input.id);
      if (!hasPermission(role, 'administer')) {
        throw new ApiError(
          'Forbidden',
          `The role ${role} may not change a workspace; it takes an administrator or owner.`,
        );
      }
      await this.workspaces.update(tx, input.id, input);
      return toWorkspace(await this.getOfMember(tx, caller, input.id));
    });
  }

  private async getOfMember(sql: Sql, { account }: AccountCaller, id: string) {
    const workspace = await this.workspaces.findOfMember(sql, account.id, id);
    if (!workspace) throw notFound('workspace', id);
    return workspace;
  }
}
