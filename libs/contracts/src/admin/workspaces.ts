import {
  ArrayMaxSize,
  IsArray,
  IsBoolean,
  IsInt,
  IsISO8601,
  IsNumber,
  IsString,
  Length,
  Matches,
  Max,
  MaxLength,
  Min,
} from 'class-validator';
import { account, service } from '../access';
import { ListOf, Nested, Nullable, Optional } from '../fields';
import { PathParam, QueryList, QueryString } from '../query-fields';
import { consumer, event, operation } from '../operation';
import { Empty, PageMeta, PageQuery } from '../paging';

export const handleForm = /^[0-9a-z]([a-z0-9-_]*[0-9a-z])?$/;

export class Workspace {
  @IsString() id!: string;
  @IsString() name!: string;
  @IsString() ownerId!: string;
  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
  @IsInt() botCount!: number;
  @IsString() billingVersion!: 'v1';
  @IsString() plan!: 'community';
  @IsBoolean() blocked!: boolean;
  @IsNumber() spendingLimit!: number;
  @IsString() about!: string;
  @IsString() profilePicture!: string;
  @IsString() contactEmail!: string;
  @IsString() website!: string;
  @IsArray() @IsString({ each: true }) socialAccounts!: string[];
  @IsBoolean() isPublic!: boolean;
  @Optional() @IsString() handle?: string;
  @Nullable() @IsString() activeTrialId!: string | null;
}

export class CreateWorkspace {
  @IsString() @Length(1, 64) name!: string;

  /** Ignored; accepted for compatibility with existing clients. This platform has no billing. */
  @Optional() @IsString() billingVersion?: string;
}

export class WorkspaceId {
  @PathParam() id!: string;
}

export class ListWorkspaces extends PageQuery {
  @QueryString({ maxLength: 64 }) handle?: string;
}

export class Workspaces {
  @ListOf(Workspace) workspaces!: Workspace[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class PublicWorkspace {
  @IsString() id!: string;
  @IsString() name!: string;
  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
  @IsString() about!: string;
  @IsString() profilePicture!: string;
  @IsString() contactEmail!: string;
  @IsString() website!: string;
  @IsArray() @IsString({ each: true }) socialAccounts!: string[];

  /** Empty when the workspace has no handle. */
  @IsString() handle!: string;
}

export class ListPublicWorkspaces extends PageQuery {
  @QueryList() workspaceIds?: string[];

  /** Case-insensitive substring of the name, the handle or the text `about`. */
  @QueryString({ maxLength: 200 }) search?: string;
}

export class PublicWorkspaces {
  @ListOf(PublicWorkspace) workspaces!: PublicWorkspace[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class CheckHandle {
  @IsString()
  @Length(1, 64)
  @Matches(/^[0-9a-z-_]+$/, { message: 'handle must consist of lower-case letters, digits, hyphens and underscores' })
  handle!: string;
}

export class HandleAvailability {
  @IsBoolean() available!: boolean;

  /** Similar handles that are available; empty when the requested one is available. */
  @IsArray() @IsString({ each: true }) suggestions!: string[];

  /** Name of the workspace that uses the handle; absent when that workspace is not public. */
  @Optional() @IsString() usedBy?: string;
}

/** Absent fields stay unchanged. */
export class UpdateWorkspace extends WorkspaceId {
  @Optional() @IsString() @Length(1, 64) name?: string;

  /** Ignored; accepted for compatibility with existing clients. This platform has no billing. */
  @Optional() @IsNumber() @Min(5) @Max(1000) spendingLimit?: number;

  @Optional() @IsString() @MaxLength(2000) about?: string;
  @Optional() @IsString() @MaxLength(2000) profilePicture?: string;
  @Optional() @IsString() @MaxLength(320) contactEmail?: string;
  @Optional() @IsString() @MaxLength(2000) website?: string;

  @Optional()
  @IsArray()
  @ArrayMaxSize(5)
  @IsString({ each: true })
  @MaxLength(2000, { each: true })
  socialAccounts?: string[];

  @Optional() @IsBoolean() isPublic?: boolean;

  /** Unique on the platform. */
  @Optional()
  @IsString()
  @Length(1, 64)
  @Matches(handleForm, {
    message:
      'handle must consist of lower-case letters, digits, hyphens and underscores, and begin and end with a letter or digit',
  })
  handle?: string;
}

export class WorkspaceLabel {
  @IsString() id!: string;
  @IsString() name!: string;
  @Nullable() @IsString() handle!: string | null;

  /** Time of the last change: a later label replaces an earlier one. */
  @IsISO8601() updatedAt!: string;
}

export class WorkspaceLabelReply extends WorkspaceLabel {
  /** True for the workspace that the first start of the platform creates for the operator. */
  @Optional() @IsBoolean() isOperators?: boolean;
}

export const workspaceChanged = event({ subject: 'admin.workspaceChanged', data: WorkspaceLabel });

export const labelWorkspace = consumer({ name: 'hub.labelWorkspace', event: workspaceChanged });

/**
 * Workspace deletion: the workspace and its memberships no longer exist; other services drop their copies of its label.
 */
export class WorkspaceDeleted {
  @IsString() workspaceId!: string;
}

export const workspaceDeleted = event({ subject: 'admin.workspaceDeleted', data: WorkspaceDeleted });

export const dropWorkspace = consumer({ name: 'hub.dropWorkspace', event: workspaceDeleted });
export const dropWorkspaceInModels = consumer({ name: 'models.dropWorkspace', event: workspaceDeleted });

export class LabelWorkspace {
  @IsString() id!: string;
}

export const workspaces = {
  label: operation({
    subject: 'admin.workspaces.label',
    summary: 'Gets the name and handle of a workspace for another service.',
    access: service,
    input: LabelWorkspace,
    output: WorkspaceLabelReply,
  }),
  create: operation({
    subject: 'admin.workspaces.create',
    route: 'POST /v1/admin/workspaces',
    summary: 'Creates a workspace. The calling account becomes its owner.',
    access: account,
    input: CreateWorkspace,
    output: Workspace,
  }),
  get: operation({
    subject: 'admin.workspaces.get',
    route: 'GET /v1/admin/workspaces/{id}',
    summary: 'Gets a workspace that the calling account is a member of.',
    access: account,
    input: WorkspaceId,
    output: Workspace,
  }),
  list: operation({
    subject: 'admin.workspaces.list',
    route: 'GET /v1/admin/workspaces',
    summary: 'Lists the workspaces that the calling account is a member of, newest first.',
    access: account,
    input: ListWorkspaces,
    output: Workspaces,
  }),
  update: operation({
    subject: 'admin.workspaces.update',
    route: 'PUT /v1/admin/workspaces/{id}',
    summary: 'Updates the settings of a workspace. Absent fields stay unchanged.',
    access: account,
    input: UpdateWorkspace,
    output: Workspace,
  }),
  delete: operation({
    subject: 'admin.workspaces.delete',
    route: 'DELETE /v1/admin/workspaces/{id}',
    summary: 'Deletes a workspace. It must not have any bots.',
    access: account,
    input: WorkspaceId,
    output: Empty,
  }),
  migrateToV4: operation({
    subject: 'admin.workspaces.migrateToV4',
    route: 'POST /v1/admin/workspaces/{id}/migrate-to-v4',
    summary: 'Has no effect: every workspace has the current format already.',
    access: account,
    input: WorkspaceId,
    output: Empty,
  }),
  getPublic: operation({
    subject: 'admin.workspaces.getPublic',
    route: 'GET /v1/admin/workspaces/{id}/public',
    summary: 'Gets the public profile of a workspace.',
    access: account,
    input: WorkspaceId,
    output: PublicWorkspace,
  }),
  listPublic: operation({
    subject: 'admin.workspaces.listPublic',
    route: 'GET /v1/admin/workspaces/public',
    summary: 'Lists public workspaces, newest first.',
    access: account,
    input: ListPublicWorkspaces,
    output: PublicWorkspaces,
  }),
  checkHandle: operation({
    subject: 'admin.workspaces.checkHandle',
    route: 'PUT /v1/admin/workspaces/handle-availability',
    summary: 'Checks whether a workspace handle is available, and suggests others when it is not.',
    access: account,
    input: CheckHandle,
    output: HandleAvailability,
  }),
};
