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
import { Database } from '@parley/database/database';
import { toWorkspace } from './workspace.entity';
import { WorkspacesRepository } from './workspaces.repository';

@Injectable()
export class WorkspacesService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesRepository,
  ) {}

  async create(caller: AccountCaller, { name }: CreateWorkspace) {
    const id = await this.database.transaction((tx) => this.workspaces.create(tx, caller.account.id, { name }));
    return this.get(caller, { id });
  }

  async get(caller: AccountCaller, { id }: WorkspaceId) {
    return toWorkspace(await this.getOfMember(caller, id));
  }

  async list({ account }: AccountCaller, query: ListWorkspaces): Promise<Workspaces> {
    const { rows, nextToken } = await this.workspaces.listOfMember(account.id, query);
    return { workspaces: rows.map(toWorkspace), meta: { nextToken } };
  }

  async update(caller: AccountCaller, input: UpdateWorkspace) {
    const { role } = await this.getOfMember(caller, input.id);
    if (!hasPermission(role, 'administer')) {
      throw new ApiError(
        'Forbidden',
        `The role ${role} may not change a workspace; it takes an administrator or owner.`,
      );
    }
    await this.workspaces.update(input.id, input);
    return this.get(caller, input);
  }

  private async getOfMember({ account }: AccountCaller, id: string) {
    const workspace = await this.workspaces.findOfMember(account.id, id);
    if (!workspace) throw notFound('workspace', id);
    return workspace;
  }
}
