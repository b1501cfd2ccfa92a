import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { ListPublicWorkspaces, ListWorkspaces, UpdateWorkspace } from '@parley/contracts/admin/workspaces';
import type { Role } from '@parley/contracts/caller';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { isUniqueViolation } from '@parley/persistence/errors';
import { newId } from '@parley/persistence/ids';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { In, type Repository } from 'typeorm';
import { MemberEntity } from '../access/member.entity';
import { type PublicRow, WorkspaceEntity, type WorkspaceRow } from './workspace.entity';

const columns = `workspace.*, (SELECT count(*) FROM bot WHERE bot.workspace_id = workspace.id) AS bot_count`;
const newestFirst = new Keyset<WorkspaceRow>([
  { sql: 'workspace.created_at', type: 'timestamptz', of: (row) => row.created_at },
  { sql: 'workspace.id', type: 'text', of: (row) => row.id },
]);

const publicColumns = `id, name, handle, about, profile_picture, contact_email, website, social_accounts, created_at,
  updated_at`;
const newestPublicFirst = new Keyset<PublicRow>([
  { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
  { sql: 'id', type: 'text', of: (row) => row.id },
]);

export interface LeavingRow {
  id: string;
  name: string;
  member_id: string;
  alone: boolean;
  only_owner: boolean;
  has_bots: boolean;
}

export interface NewWorkspace {
  name: string;
  handle?: string;
  /** Workspace of the platform's operator; at most one exists. */
  isOperators?: boolean;
}

@Injectable()
export class WorkspacesRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(WorkspaceEntity) private readonly workspaces: Repository<WorkspaceEntity>,
  ) {}

  /** Creates a workspace with its owner as first member. Throws Unauthorized when the account is gone. */
  async insertWithOwner(
    tx: Sql,
    ownerId: string,
    { name, handle, isOperators = false }: NewWorkspace,
  ): Promise<string> {
    const id = newId('wkspace');
    const rows = await tx.query(
      `INSERT INTO workspace (id, name, owner_id, handle, is_operators)
       SELECT $1, $2, account.id, $4, $5 FROM account WHERE account.id = $3 FOR KEY SHARE RETURNING 1`,
      [id, name, ownerId, handle ?? null, isOperators],
    );
    if (rows.length === 0) throw new ApiError('Unauthorized', 'The account was deleted.');
    await tx.manager.insert(MemberEntity, {
      id: newId('member'),
      workspace_id: id,
      account_id: ownerId,
      role: 'owner',
    });
    return id;
  }

  /** Row lock: blocks changes of the workspace's members and of its counted resources until the transaction ends. */
  async lockById(tx: Transaction, id: string): Promise<void> {
    const rows = await tx.query('SELECT 1 FROM workspace WHERE id = $1 FOR NO KEY UPDATE', [id]);
    if (rows.length === 0) throw notFound('workspace', id);
  }

  async findOfMember(sql: Sql, accountId: string, id: string): Promise<(WorkspaceRow & { role: Role }) | undefined> {
    const [row] = await sql.query<WorkspaceRow & { role: Role }>(
      `SELECT ${columns}, member.role FROM workspace
       JOIN workspace_member member ON member.workspace_id = workspace.id AND member.account_id = $1
       WHERE workspace.id = $2`,
      [accountId, id],
    );
    return row;
  }

  /** Row locks on the account's workspaces, in the order of their ids; returns the ids. */
  async lockAllOfMember(tx: Transaction, accountId: string): Promise<string[]> {
    const rows = await tx.query<{ id: string }>(
      `SELECT workspace.id FROM workspace
       JOIN workspace_member member ON member.workspace_id = workspace.id AND member.account_id = $1
       ORDER BY workspace.id FOR UPDATE OF workspace`,
      [accountId],
    );
    return rows.map(({ id }) => id);
  }

  listForLeaving(tx: Transaction, accountId: string): Promise<LeavingRow[]> {
    return tx.query(
      `SELECT workspace.id, workspace.name, member.id AS member_id, others.count = 0 AS alone,
              others.owners = 0 AS only_owner, EXISTS (SELECT 1 FROM bot WHERE workspace_id = workspace.id) AS has_bots
       FROM workspace
       JOIN workspace_member member ON member.workspace_id = workspace.id AND member.account_id = $1
       CROSS JOIN LATERAL (
         SELECT count(*) AS count, count(*) FILTER (WHERE role = 'owner') AS owners FROM workspace_member
         WHERE workspace_id = workspace.id AND account_id <> $1
       ) others`,
      [accountId],
    );
  }

  /** Assigns the account's workspaces to their longest-standing other owner. */
  async reassignOwnedBy(tx: Transaction, accountId: string): Promise<void> {
    await tx.query(
      `UPDATE workspace SET owner_id = (
         SELECT account_id FROM workspace_member
         WHERE workspace_id = workspace.id AND role = 'owner' AND account_id <> $1
         ORDER BY created_at, account_id LIMIT 1)
       WHERE owner_id = $1`,
      [accountId],
    );
  }

  async hasBots(tx: Transaction, id: string): Promise<boolean> {
    const rows = await tx.query('SELECT 1 FROM bot WHERE workspace_id = $1 LIMIT 1', [id]);
    return rows.length > 0;
  }

  /** Cascades to its members and preferences. */
  async deleteById(tx: Transaction, id: string): Promise<void> {
    await tx.manager.delete(WorkspaceEntity, { id });
  }

  async findPublicById(id: string): Promise<PublicRow | undefined> {
    return (await this.workspaces.findOneBy({ id, is_public: true })) ?? undefined;
  }

  /** Index workspace_public. */
  async listPublic(query: ListPublicWorkspaces) {
    const limit = pageSize(query);
    const boundTo = [query.workspaceIds, query.search];
    const values: unknown[] = [query.workspaceIds ?? null, query.search?.toLowerCase() ?? null];
    const rows = await this.database.query<PublicRow>(
      `SELECT ${publicColumns} FROM workspace
       WHERE is_public AND ($1::text[] IS NULL OR id = ANY($1))
         AND ($2::text IS NULL OR strpos(lower(name), $2) > 0 OR strpos(handle, $2) > 0 OR strpos(lower(about), $2) > 0)
         AND ${newestPublicFirst.after(query.nextToken, boundTo, values)}
       ORDER BY ${newestPublicFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestPublicFirst.page(rows, limit, boundTo);
  }

  /** Selects the handles that are in use. Index workspace_handle. */
  listTakenHandles(handles: string[]): Promise<Pick<WorkspaceEntity, 'handle' | 'name' | 'is_public'>[]> {
    return this.workspaces.find({
      select: { handle: true, name: true, is_public: true },
      where: { handle: In(handles) },
    });
  }

  /** Workspace of the platform's operator. Index workspace_operators. */
  async findIdOfOperators(): Promise<string | undefined> {
    const workspace = await this.workspaces.findOne({ select: { id: true }, where: { is_operators: true } });
    return workspace?.id;
  }

  async findById(id: string): Promise<WorkspaceEntity | undefined> {
    return (await this.workspaces.findOneBy({ id })) ?? undefined;
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

  /** `updated_at` is strictly increasing. Throws AlreadyExists when another workspace has the handle. */
  async updateById(tx: Sql, id: string, change: UpdateWorkspace): Promise<void> {
    try {
      await tx.query(
        `UPDATE workspace SET name = coalesce($2, name), handle = coalesce($3, handle), about = coalesce($4, about),
           profile_picture = coalesce($5, profile_picture), contact_email = coalesce($6, contact_email),
           website = coalesce($7, website), social_accounts = coalesce($8, social_accounts),
           is_public = coalesce($9, is_public),
           updated_at = greatest(now(), workspace.updated_at + interval '1 millisecond')
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
      throw new ApiError('AlreadyExists', `handle: "${change.handle ?? ''}" is taken. Choose another one.`);
    }
  }
}
