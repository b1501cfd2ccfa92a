import { Injectable } from '@nestjs/common';
import { type AccountCaller, type Permission, requirePermission } from '@parley/contracts/access';
import type { Role } from '@parley/contracts/caller';
import { notFound } from '@parley/contracts/errors';
import type { Sql } from '@parley/database/database';

@Injectable()
export class MembersRepository {
  /** The caller's role in the workspace of a path. Throws ResourceNotFound for who is no member, Forbidden for too low a role. */
  async requireRole(sql: Sql, { account }: AccountCaller, workspaceId: string, permission: Permission): Promise<Role> {
    const role = await this.findRole(sql, account.id, workspaceId);
    if (!role) throw notFound('workspace', workspaceId);
    requirePermission(role, permission);
    return role;
  }

  async findRole(sql: Sql, accountId: string | undefined, workspaceId: string): Promise<Role | undefined> {
    const [member] = await sql.query<{ role: Role }>(
      'SELECT role FROM workspace_member WHERE workspace_id = $1 AND account_id = $2',
      [workspaceId, accountId ?? null],
    );
    return member?.role;
  }
}
