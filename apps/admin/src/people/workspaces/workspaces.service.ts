import { Injectable } from '@nestjs/common';
import { ParleyClient } from '@parley/transport/parley-client';
import type { AccountCaller } from '@parley/contracts/access';
import { admin } from '@parley/contracts/admin/admin';
import { credentialsChanged } from '@parley/contracts/admin/identity';
import {
  type CheckHandle,
  type CreateWorkspace,
  type HandleAvailability,
  handleForm,
  type LabelWorkspace,
  type ListPublicWorkspaces,
  type ListWorkspaces,
  type PublicWorkspace,
  type PublicWorkspaces,
  type UpdateWorkspace,
  workspaceChanged,
  workspaceDeleted,
  type WorkspaceId,
  type WorkspaceLabelReply,
  type Workspaces,
} from '@parley/contracts/admin/workspaces';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { AuditRepository } from '../access/audit.repository';
import { suggestHandles } from './suggest-handles';
import { RolesRepository } from '../access/roles.repository';
import { toLabel, toPublicWorkspace, toWorkspace } from './workspace.entity';
import { WorkspacesRepository } from './workspaces.repository';

const maxSuggestions = 5;

@Injectable()
export class WorkspacesService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesRepository,
    private readonly roles: RolesRepository,
    private readonly audit: AuditRepository,
    private readonly outbox: Outbox,
    private readonly client: ParleyClient,
  ) {}

  /** Reads the reply before the commit, like `update`: an error then means that nothing was changed. */
  async create(caller: AccountCaller, { name }: CreateWorkspace) {
    const workspace = await this.database.transaction(async (tx) => {
      const id = await this.workspaces.insertWithOwner(tx, caller.account.id, { name });
      await this.audit.insertChange(tx, caller, {
        workspaceId: id,
        action: 'CREATE_WORKSPACE',
        operation: admin.workspaces.create,
        resourceId: id,
        resourceName: name,
      });
      return this.changed(tx, caller, id);
    });
    this.client.broadcast(credentialsChanged, { reason: `workspace ${workspace.id} was created` });
    return workspace;
  }

  async get(caller: AccountCaller, { id }: WorkspaceId) {
    return toWorkspace(await this.getOfMember(this.database, caller, id));
  }

  async list({ account }: AccountCaller, query: ListWorkspaces): Promise<Workspaces> {
    const { rows, nextToken } = await this.workspaces.listOfMember(account.id, query);
    return { workspaces: rows.map(toWorkspace), meta: { nextToken } };
  }

  async update(caller: AccountCaller, input: UpdateWorkspace) {
    const { id, ...changes } = input;
    const workspace = await this.database.transaction(async (tx) => {
      await this.roles.requireRole(tx, caller, id, 'administer');
      await this.workspaces.updateById(tx, id, input);
      await this.audit.insertChange(tx, caller, {
        workspaceId: id,
        action: 'UPDATE_WORKSPACE',
        operation: admin.workspaces.update,
        resourceId: id,
        value: JSON.stringify(changes),
      });
      return this.changed(tx, caller, id);
    });
    // Identities include the label of the workspace.
    this.client.broadcast(credentialsChanged, { reason: `workspace ${id} was updated` });
    return workspace;
  }

  /** For clients that migrate a workspace before they use it: there is nothing to do. */
  async migrateToV4(caller: AccountCaller, { id }: WorkspaceId) {
    await this.roles.requireRole(this.database, caller, id, 'administer');
    return {};
  }

  async delete(caller: AccountCaller, { id }: WorkspaceId) {
    await this.database.transaction(async (tx) => {
      await this.workspaces.lockById(tx, id);
      await this.roles.requireRole(tx, caller, id, 'own');
      if (await this.workspaces.hasBots(tx, id)) {
        throw new ApiError(
          'ReferenceConstraint',
          `Cannot delete workspace "${id}": it has bots. Delete or transfer them first.`,
        );
      }
      const { name } = await this.getOfMember(tx, caller, id);
      await this.close(tx, caller, admin.workspaces.delete, { id, name });
    });
    this.client.broadcast(credentialsChanged, { reason: `workspace ${id} was deleted` });
    return {};
  }

  /** Deletes a locked workspace without bots, for any operation that does so. Its audit records stay. */
  async close(
    tx: Transaction,
    caller: AccountCaller,
    operation: Operation,
    { id, name }: { id: string; name: string },
  ) {
    await this.audit.insertChange(tx, caller, {
      workspaceId: id,
      action: 'CLOSE_WORKSPACE',
      operation,
      resourceId: id,
      resourceName: name,
    });
    await this.workspaces.deleteById(tx, id);
    await this.outbox.add(tx, workspaceDeleted, { workspaceId: id });
  }

  async getPublic({ id }: WorkspaceId): Promise<PublicWorkspace> {
    const row = await this.workspaces.findPublicById(id);
    if (!row) throw notFound('public workspace', id);
    return toPublicWorkspace(row);
  }

  async listPublic(query: ListPublicWorkspaces): Promise<PublicWorkspaces> {
    const { rows, nextToken } = await this.workspaces.listPublic(query);
    return { workspaces: rows.map(toPublicWorkspace), meta: { nextToken } };
  }

  async checkHandle({ handle }: CheckHandle): Promise<HandleAvailability> {
    const similar = suggestHandles(handle);
    const taken = await this.workspaces.listTakenHandles([handle, ...similar]);
    const user = taken.find((workspace) => workspace.handle === handle);
    if (!user && handleForm.test(handle)) return { available: true, suggestions: [] };
    return {
      available: false,
      suggestions: similar.filter((free) => !taken.some((one) => one.handle === free)).slice(0, maxSuggestions),
      usedBy: user?.is_public ? user.name : undefined,
    };
  }

  async label({ id }: LabelWorkspace): Promise<WorkspaceLabelReply> {
    const row = await this.workspaces.findById(id);
    if (!row) throw notFound('workspace', id);
    return { ...toLabel(row), isOperators: row.is_operators };
  }

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
