import { IsBoolean, IsEmail, IsIn, IsString } from 'class-validator';
import { workspace } from '../access';
import type { Role } from '../caller';
import { ListOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta, PageQuery } from '../paging';
import { PathParam } from '../query-fields';

const roles: Role[] = ['owner', 'administrator', 'manager', 'developer', 'billing', 'viewer'];

/** Membership of an account in a workspace, with the name and picture of the account. */
export class WorkspaceMember {
  @IsString() id!: string;

  /** Account id. */
  @IsString() userId!: string;

  @IsString() email!: string;
  @IsString() createdAt!: string;
  @IsIn(roles) role!: Role;
  @Optional() @IsString() profilePicture?: string;
  @Optional() @IsString() displayName?: string;
}

export class WorkspaceMembers {
  @ListOf(WorkspaceMember) members!: WorkspaceMember[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class CreateWorkspaceMember {
  /** Address of an existing account. */
  @IsEmail() email!: string;

  @IsIn(roles) role!: Role;

  /** Ignored; accepted for compatibility with existing clients. This platform sends no mail. */
  @Optional() @IsBoolean() sendEmail?: boolean;
}

export class WorkspaceMemberId {
  @PathParam() id!: string;
}

export class UpdateWorkspaceMember extends WorkspaceMemberId {
  @Optional() @IsIn(roles) role?: Role;
}

export const members = {
  list: operation({
    subject: 'admin.members.list',
    route: 'GET /v1/admin/workspace-members',
    summary: 'Lists the members of the workspace, newest first.',
    access: workspace.read,
    input: PageQuery,
    output: WorkspaceMembers,
  }),
  getOwn: operation({
    subject: 'admin.members.getOwn',
    route: 'GET /v1/admin/workspace-members/me',
    summary: 'Gets the membership of the calling account in the workspace.',
    access: workspace.belong,
    input: Empty,
    output: WorkspaceMember,
  }),
  create: operation({
    subject: 'admin.members.create',
    route: 'POST /v1/admin/workspace-members',
    summary: 'Adds an existing account to the workspace as a member. Only an owner can add an owner.',
    access: workspace.administer,
    input: CreateWorkspaceMember,
    output: WorkspaceMember,
  }),
  update: operation({
    subject: 'admin.members.update',
    route: 'PUT /v1/admin/workspace-members/{id}',
    summary: 'Changes the role of a member. Only an owner can grant or revoke the role owner. The last owner keeps it.',
    access: workspace.administer,
    input: UpdateWorkspaceMember,
    output: WorkspaceMember,
  }),
  delete: operation({
    subject: 'admin.members.delete',
    route: 'DELETE /v1/admin/workspace-members/{id}',
    summary: 'Removes a member from the workspace. Every member may leave, except the last owner.',
    access: workspace.belong,
    input: WorkspaceMemberId,
    output: Empty,
  }),
};
