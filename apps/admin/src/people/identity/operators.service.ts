import { Injectable } from '@nestjs/common';
import { type AccountCaller, hasPermission, operators } from '@parley/contracts/access';
import type { OperatorAccess } from '@parley/contracts/admin/operators';
import { Database } from '@parley/persistence/database';
import { AdminConfig } from '../../config';
import { RolesRepository } from '../access/roles.repository';
import { WorkspacesRepository } from '../workspaces/workspaces.repository';

/** Members of the operator's workspace. */
@Injectable()
export class OperatorsService {
  constructor(
    private readonly database: Database,
    private readonly workspaces: WorkspacesRepository,
    private readonly roles: RolesRepository,
    private readonly config: AdminConfig,
  ) {}

  async get({ account }: AccountCaller): Promise<OperatorAccess> {
    const workspaceId = await this.findWorkspaceId();
    if (workspaceId === undefined) return { isOperator: false };
    const role = await this.roles.findRole(this.database, account.id, workspaceId);
    return { isOperator: role !== undefined && hasPermission(role, operators.permission) };
  }

  /** Undefined in a database of an earlier release whose first workspace was renamed. */
  async findWorkspaceId(): Promise<string | undefined> {
    return this.config.operatorWorkspaceId ?? this.workspaces.findIdOfOperators();
  }
}
