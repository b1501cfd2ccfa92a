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
import { PathParam, QueryString } from '../query-fields';
import { event, operation } from '../operation';
import { PageMeta, PageQuery } from '../paging';

export class Workspace {
  @IsString()
  id!: string;

  @IsString()
  name!: string;

  @IsString()
  ownerId!: string;

  @IsString()
  createdAt!: string;

  @IsString()
  updatedAt!: string;

  @IsInt()
  botCount!: number;

  @IsString()
  billingVersion!: 'v1';

  @IsString()
  plan!: 'community';

  @IsBoolean()
  blocked!: boolean;

  @IsNumber()
  spendingLimit!: number;

  @IsString()
  about!: string;

  @IsString()
  profilePicture!: string;

  @IsString()
  contactEmail!: string;

  @IsString()
  website!: string;

  @IsArray()
  @IsString({ each: true })
  socialAccounts!: string[];

  @IsBoolean()
  isPublic!: boolean;

  @Optional()
  @IsString()
  handle?: string;

  @Nullable()
  @IsString()
  activeTrialId!: string | null;
}

export class CreateWorkspace {
  @IsString()
  @Length(1, 64)
  name!: string;
}

export class WorkspaceId {
  @PathParam()
  id!: string;
}

export class ListWorkspaces extends PageQuery {
  @QueryString({ maxLength: 64 })
  handle?: string;
}

export class Workspaces {
  @ListOf(Workspace)
  workspaces!: Workspace[];

  @Nested(PageMeta)
  meta!: PageMeta;
}

/** What is absent stays as it is. */
export class UpdateWorkspace extends WorkspaceId {
  @Optional()
  @IsString()
  @Length(1, 64)
  name?: string;

  /** Accepted for clients that send it: this platform charges nothing, so that it changes nothing. */
  @Optional()
  @IsNumber()
  @Min(5)
  @Max(1000)
  spendingLimit?: number;

  @Optional()
  @IsString()
  @MaxLength(2000)
  about?: string;

  @Optional()
  @IsString()
  @MaxLength(2000)
  profilePicture?: string;

  @Optional()
  @IsString()
  @MaxLength(320)
  contactEmail?: string;

  @Optional()
  @IsString()
  @MaxLength(2000)
  website?: string;

  @Optional()
  @IsArray()
  @ArrayMaxSize(5)
  @IsString({ each: true })
  @MaxLength(2000, { each: true })
  socialAccounts?: string[];

  @Optional()
  @IsBoolean()
  isPublic?: boolean;

  /** Unique on the platform. */
  @Optional()
  @IsString()
  @Length(1, 64)
  @Matches(/^[0-9a-z]([a-z0-9-_]*[0-9a-z])?$/, {
    message:
      'handle must be lower-case letters, digits, hyphens and underscores, and begin and end with a letter or digit',
  })
  handle?: string;
}

/** What other services show of a workspace. */
export class WorkspaceLabel {
  @IsString()
  id!: string;

  @IsString()
  name!: string;

  @Nullable()
  @IsString()
  handle!: string | null;

  /** When it was last changed: a label with a later time replaces this one. */
  @IsISO8601()
  updatedAt!: string;
}

export const workspaceChanged = event({ subject: 'admin.workspaceChanged', data: WorkspaceLabel });

export class LabelWorkspace {
  @IsString()
  id!: string;
}

export const workspaces = {
  label: operation({
    subject: 'admin.workspaces.label',
    summary: 'Gives the name and handle of a workspace to another service.',
    access: service,
    input: LabelWorkspace,
    output: WorkspaceLabel,
  }),
  create: operation({
    subject: 'admin.workspaces.create',
    route: 'POST /v1/admin/workspaces',
    summary: 'Creates a workspace that the calling account owns.',
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
    summary: 'Changes the settings of a workspace.',
    access: account,
    input: UpdateWorkspace,
    output: Workspace,
  }),
};
