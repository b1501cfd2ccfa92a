import { Injectable } from '@nestjs/common';
import { type Permission, requirePermission } from '@parley/contracts/access';
import type { Caller, Role } from '@parley/contracts/caller';
import { notFound } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import { MemberEntity } from './member.entity';

/** Roles of accounts in workspaces. */
@Injectable()
export class RolesRepository {
  /**
   * Returns the caller's role in the workspace. Throws ResourceNotFound for an account that is not a member, Forbidden
   * for a role without the permission.
   */
  async requireRole(sql: Sql, { account }: Caller, workspaceId: string, permission: Permission): Promise<Role> {
    const role = await this.findRole(sql, account?.id, workspaceId);
    if (!role) throw notFound('workspace', workspaceId);
    requirePermission(role, permission);
    return role;
  }

  async findRole(sql: Sql, accountId: string | undefined, workspaceId: string): Promise<Role | undefined> {
    if (accountId === undefined) return undefined;
    const member = await sql.manager.findOneBy(MemberEntity, { workspace_id: workspaceId, account_id: accountId });
    return member?.role;
  }
}
