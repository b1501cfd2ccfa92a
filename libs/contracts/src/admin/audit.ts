import { IsIn, IsISO8601, IsString, MaxLength } from 'class-validator';
import { account } from '../access';
import { ListOf, Nested, Nullable, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import { PageMeta, PageQuery } from '../paging';
import { PathParam } from '../query-fields';

/** What the public clients know an administrative change as; `UNKNOWN` where they have no name for it. */
export const auditActions = [
  'UNKNOWN',
  'ADD_WORKSPACE_MEMBER',
  'REMOVE_WORKSPACE_MEMBER',
  'UPDATE_WORKSPACE_MEMBER',
  'CLOSE_WORKSPACE',
  'CREATE_BOT',
  'CREATE_WORKSPACE',
  'DELETE_BOT',
  'DEPLOY_BOT',
  'TRANSFER_BOT',
  'UPDATE_BOT',
  'UPDATE_BOT_CHANNEL',
  'UPDATE_BOT_CONFIG',
  'UPDATE_WORKSPACE',
] as const;

export type AuditAction = (typeof auditActions)[number];

/** One administrative change: who, what, when and from where. Never a secret. */
export class AuditEntry {
  /** Of the request, so that telling it twice records it once. */
  @IsString()
  requestId!: string;

  @IsString()
  workspaceId!: string;

  /** The account that asked; absent for a key. */
  @Optional()
  @IsString()
  accountId?: string;

  @Optional()
  @IsString()
  email?: string;

  /** Network address that the request came from. */
  @Optional()
  @IsString()
  address?: string;

  @IsIn(auditActions)
  action!: AuditAction;

  /** Subject of the operation, such as `hub.integrations.create`: says more than an action named UNKNOWN. */
  @IsString()
  operation!: string;

  @Nullable()
  @IsString()
  resourceId!: string | null;

  @Nullable()
  @IsString()
  resourceName!: string | null;

  /** What it was changed to, in short. */
  @Nullable()
  @IsString()
  @MaxLength(1000)
  value!: string | null;

  @IsISO8601()
  recordedAt!: string;
}

/** Told by every service but admin, which records its own changes in their transaction. */
export const administrativeChange = event({ subject: 'hub.administrativeChange', data: AuditEntry });

export const recordChange = consumer({ name: 'admin.recordChange', event: administrativeChange });

/** A change as administrators see it. */
export class AuditRecord {
  @IsString()
  id!: string;

  @IsString()
  recordedAt!: string;

  /** The account that asked; null for a key. */
  @Nullable()
  @IsString()
  userId!: string | null;

  @Nullable()
  @IsString()
  userEmail!: string | null;

  @Nullable()
  @IsString()
  resourceId!: string | null;

  @Nullable()
  @IsString()
  resourceName!: string | null;

  @Nullable()
  @IsString()
  value!: string | null;

  @IsIn(auditActions)
  action!: AuditAction;

  /** Subject of the operation: what was done where the public clients have no name for it. */
  @IsString()
  operation!: string;

  /** Network address that the request came from. */
  @Nullable()
  @IsString()
  address!: string | null;
}

export class AuditRecords {
  @ListOf(AuditRecord)
  records!: AuditRecord[];

  @Nested(PageMeta)
  meta!: PageMeta;
}

export class ListAuditRecords extends PageQuery {
  /** Of the workspace. */
  @PathParam()
  id!: string;
}

export const auditRecords = {
  list: operation({
    subject: 'admin.auditRecords.list',
    route: 'GET /v1/admin/workspaces/{id}/audit-records',
    summary: 'Lists the administrative changes of a workspace, newest first.',
    access: account,
    input: ListAuditRecords,
    output: AuditRecords,
  }),
};
