import { Injectable } from '@nestjs/common';
import { type AccountCaller, type Permission, requirePermission } from '@parley/contracts/access';
import type { Role } from '@parley/contracts/caller';
import { notFound } from '@parley/contracts/errors';
import type { Sql } from '@parley/database/database';

@Injectable()
export class MembersRepository {
  /** The caller's role in the workspace of a path. Throws ResourceNotFound for who is no member, Forbidden for too low a role. */
  async requireRole(sql: Sql, { account }: AccountCaller, workspaceId: string, permission: Permission): Promise<Role> {
    const [member] = await sql.query<{ role: Role }>(
      'SELECT role FROM workspace_member WHERE workspace_id = $1 AND account_id = $2',
      [workspaceId, account.id],
    );
    if (!member) throw notFound('workspace', workspaceId);
    requirePermission(member.role, permission);
    return member.role;
  }
}
