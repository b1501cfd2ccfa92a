import { Injectable } from '@nestjs/common';
import type { WorkspaceMember } from '@parley/contracts/admin/members';
import type { Role } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { PageQuery } from '@parley/contracts/paging';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { MemberEntity } from '../access/member.entity';
import type { AccountEntity } from './account.entity';

export type MemberRow = Omit<MemberEntity, 'workspace_id'> &
  Pick<AccountEntity, 'email' | 'profile_picture' | 'display_name'>;

const columns = `member.id, member.account_id, member.role, member.created_at, account.email, account.profile_picture,
  account.display_name`;
const members = 'workspace_member member JOIN account ON account.id = member.account_id';
const newestFirst = new Keyset<MemberRow>([
  { sql: 'member.created_at', type: 'timestamptz', of: (row) => row.created_at },
  { sql: 'member.id', type: 'text', of: (row) => row.id },
]);

@Injectable()
export class MembersRepository {
  constructor(private readonly database: Database) {}

  /** Index workspace_member_created. */
  async listNewestOfWorkspace(workspaceId: string, query: PageQuery) {
    const limit = pageSize(query);
    const boundTo = [workspaceId];
    const values: unknown[] = [workspaceId];
    const rows = await this.database.query<MemberRow>(
      `SELECT ${columns} FROM ${members}
       WHERE member.workspace_id = $1 AND ${newestFirst.after(query.nextToken, boundTo, values)}
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, boundTo);
  }

  async findById(sql: Sql, workspaceId: string, id: string): Promise<MemberRow | undefined> {
    const [row] = await sql.query<MemberRow>(
      `SELECT ${columns} FROM ${members} WHERE member.workspace_id = $1 AND member.id = $2`,
      [workspaceId, id],
    );
    return row;
  }

  async findByAccount(workspaceId: string, accountId: string): Promise<MemberRow | undefined> {
    const [row] = await this.database.query<MemberRow>(
      `SELECT ${columns} FROM ${members} WHERE member.workspace_id = $1 AND member.account_id = $2`,
      [workspaceId, accountId],
    );
    return row;
  }

  /** Throws AlreadyExists when the account is a member. The caller has to hold a lock on the account's row. */
  async insertMember(
    tx: Transaction,
    workspaceId: string,
    accountId: string,
    email: string,
    role: Role,
  ): Promise<string> {
    const id = newId('member');
    const rows = await tx.query(
      `INSERT INTO workspace_member (id, workspace_id, account_id, role) VALUES ($1, $2, $3, $4)
       ON CONFLICT (workspace_id, account_id) DO NOTHING RETURNING 1`,
      [id, workspaceId, accountId, role],
    );
    if (rows.length === 0)
      throw new ApiError('AlreadyExists', `email: "${email}" is a member of this workspace already.`);
    return id;
  }

  async updateRole(tx: Transaction, workspaceId: string, id: string, role: Role): Promise<void> {
    await tx.manager.update(MemberEntity, { workspace_id: workspaceId, id }, { role });
  }

  async deleteById(tx: Transaction, workspaceId: string, id: string): Promise<void> {
    await tx.manager.delete(MemberEntity, { workspace_id: workspaceId, id });
  }

  /**
   * Assigns the workspace to its longest-standing owner when its current `owner_id` is no longer an owner. Needs the
   * workspace lock. Throws ReferenceConstraint when no owner is left.
   */
  async ensureOwner(tx: Transaction, workspaceId: string): Promise<void> {
    const [owners] = await tx.query<{ count: number }>(
      `WITH owner AS (
         SELECT account_id, created_at FROM workspace_member WHERE workspace_id = $1 AND role = 'owner'
       ), moved AS (
         UPDATE workspace SET owner_id = (SELECT account_id FROM owner ORDER BY created_at, account_id LIMIT 1)
         WHERE id = $1 AND EXISTS (SELECT 1 FROM owner) AND owner_id NOT IN (SELECT account_id FROM owner)
       )
       SELECT count(*)::int AS count FROM owner`,
      [workspaceId],
    );
    if (owners!.count > 0) return;
    throw new ApiError(
      'ReferenceConstraint',
      'A workspace needs at least one owner. Make another member an owner first.',
    );
  }
}

export function toMember(row: MemberRow): WorkspaceMember {
  return {
    id: row.id,
    userId: row.account_id,
    email: row.email,
    createdAt: row.created_at.toISOString(),
    role: row.role,
    profilePicture: row.profile_picture ?? undefined,
    displayName: row.display_name ?? undefined,
  };
}
