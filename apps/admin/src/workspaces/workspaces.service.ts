import { Injectable } from '@nestjs/common';
import type { AccountCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import {
  type CreateWorkspace,
  type LabelWorkspace,
  type ListWorkspaces,
  type UpdateWorkspace,
  workspaceChanged,
  type WorkspaceId,
  type WorkspaceLabel,
  type Workspaces,
} from '@parley/contracts/admin/workspaces';
import { notFound } from '@parley/contracts/errors';
import { Database, type Sql, type Transaction } from '@parley/database/database';
import { Outbox } from '@parley/outbox/outbox';
import { AuditRepository } from '../audit/audit.repository';
import { MembersRepository } from './members.repository';
import { toLabel, toWorkspace } from './workspace.entity';
import { WorkspacesRepository } from './workspaces.repository';

@Injectable()
export class WorkspacesService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesRepository,
    private readonly members: MembersRepository,
    private readonly audit: AuditRepository,
    private readonly outbox: Outbox,
  ) {}

  /** The answer is read before the commit, as that of `update` is: an error says that nothing was done. */
  create(caller: AccountCaller, { name }: CreateWorkspace) {
    return this.database.transaction(async (tx) => {
      const id = await this.workspaces.create(tx, caller.account.id, { name });
      await this.audit.add(tx, caller, {
        workspaceId: id,
        action: 'CREATE_WORKSPACE',
        operation: admin.workspaces.create,
        resourceId: id,
        resourceName: name,
      });
      return this.changed(tx, caller, id);
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
      await this.members.requireRole(tx, caller, input.id, 'administer');
      await this.workspaces.update(tx, input.id, input);
      const { id, ...changes } = input;
      await this.audit.add(tx, caller, {
        workspaceId: id,
        action: 'UPDATE_WORKSPACE',
        operation: admin.workspaces.update,
        resourceId: id,
        value: JSON.stringify(changes),
      });
      return this.changed(tx, caller, id);
    });
  }

  async label({ id }: LabelWorkspace): Promise<WorkspaceLabel> {
    const row = await this.workspaces.findLabel(id);
    if (!row) throw notFound('workspace', id);
    return toLabel(row);
  }

  /** Announces what others show of the workspace, and answers it. */
  private async changed(tx: Transaction, caller: AccountCaller, id: string) {
    const row = await this.getOfMember(tx, caller, id);
    await this.outbox.add(tx, workspaceChanged, toLabel(row));
    return toWorkspace(row);
  }

  private async getOfMember(sql: Sql, { account }: AccountCaller, id: string) {
    const workspace = await this.workspaces.findOfMember(sql, account.id, id);
    if (!workspace) throw notFound('workspace', id);
    return workspace;
  }
}
