import { Injectable } from '@nestjs/common';
import type { ListWorkspaces, UpdateWorkspace } from '@parley/contracts/admin/workspaces';
import type { Role } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import { Database, type Sql } from '@parley/database/database';
import { isUniqueViolation } from '@parley/database/errors';
import { newId } from '@parley/database/ids';
import { Keyset, pageSize } from '@parley/database/keyset';
import type { LabelRow, WorkspaceRow } from './workspace.entity';

const columns = `workspace.*, (SELECT count(*) FROM bot WHERE bot.workspace_id = workspace.id) AS bot_count`;
const newestFirst = new Keyset<WorkspaceRow>([
  { sql: 'workspace.created_at', type: 'timestamptz', of: (row) => row.created_at },
  { sql: 'workspace.id', type: 'text', of: (row) => row.id },
]);

@Injectable()
export class WorkspacesRepository {
  constructor(private readonly database: Database) {}

  /** A workspace with its owner as first member. */
  async create(tx: Sql, ownerId: string, { name, handle }: { name: string; handle?: string }): Promise<string> {
    const id = newId('wkspace');
    await tx.query('INSERT INTO workspace (id, name, owner_id, handle) VALUES ($1, $2, $3, $4)', [
      id,
      name,
      ownerId,
      handle ?? null,
    ]);
    await tx.query("INSERT INTO workspace_member (workspace_id, account_id, role) VALUES ($1, $2, 'owner')", [
      id,
      ownerId,
    ]);
    return id;
  }

  /** The workspace with the account's role in it, if it is a member. */
  async findOfMember(sql: Sql, accountId: string, id: string): Promise<(WorkspaceRow & { role: Role }) | undefined> {
    const [row] = await sql.query<WorkspaceRow & { role: Role }>(
      `SELECT ${columns}, member.role FROM workspace
       JOIN workspace_member member ON member.workspace_id = workspace.id AND member.account_id = $1
       WHERE workspace.id = $2`,
      [accountId, id],
    );
    return row;
  }

  async findLabel(id: string): Promise<LabelRow | undefined> {
    const [row] = await this.database.query<LabelRow>(
      'SELECT id, name, handle, updated_at FROM workspace WHERE id = $1',
      [id],
    );
    return row;
  }

  /** Index workspace_member_account. */
  async listOfMember(accountId: string, query: ListWorkspaces) {
    const limit = pageSize(query);
    const boundTo = [accountId, query.handle];
    const values: unknown[] = [accountId, query.handle ?? null];
    const rows = await this.database.query<WorkspaceRow>(
      `SELECT ${columns} FROM workspace
       JOIN workspace_member member ON member.workspace_id = workspace.id AND member.account_id = $1
       WHERE ($2::text IS NULL OR workspace.handle = $2) AND ${newestFirst.after(query.nextToken, boundTo, values)}
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, boundTo);
  }

  /** Throws AlreadyExists when the handle is taken. */
  async update(tx: Sql, id: string, change: UpdateWorkspace): Promise<void> {
    try {
      await tx.query(
        `UPDATE workspace SET name = coalesce($2, name), handle = coalesce($3, handle), about = coalesce($4, about),
           profile_picture = coalesce($5, profile_picture), contact_email = coalesce($6, contact_email),
           website = coalesce($7, website), social_accounts = coalesce($8, social_accounts),
           is_public = coalesce($9, is_public), updated_at = now()
         WHERE id = $1`,
        [
          id,
          change.name,
          change.handle,
          change.about,
          change.profilePicture,
          change.contactEmail,
          change.website,
          change.socialAccounts && JSON.stringify(change.socialAccounts),
          change.isPublic,
        ].map((value) => value ?? null),
      );
    } catch (error) {
      if (!isUniqueViolation(error, 'workspace_handle')) throw error;
      throw new ApiError('AlreadyExists', `handle "${change.handle ?? ''}" is taken: choose another one.`);
    }
  }
}
