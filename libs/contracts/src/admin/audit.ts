import { IsIn, IsISO8601, IsString, MaxLength } from 'class-validator';
import { account, type WorkspaceCaller } from '../access';
import { ListOf, Nested, Nullable, Optional } from '../fields';
import { consumer, event, type Operation, operation } from '../operation';
import { PageMeta, PageQuery } from '../paging';
import { PathParam } from '../query-fields';

/** Actions of the audit log as the public clients name them; `UNKNOWN` for a change that they have no name for. */
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

/** Audit log entry of one administrative change: actor, action, time and network address. Never holds a secret. */
export class AuditEntry {
  /** Id of the request: makes a redelivered event idempotent. */
  @IsString() requestId!: string;

  @IsString() workspaceId!: string;

  /** Account that made the request; absent for an API key. */
  @Optional() @IsString() accountId?: string;

  @Optional() @IsString() email?: string;

  /** Network address of the client. */
  @Optional() @IsString() address?: string;

  @IsIn(auditActions) action!: AuditAction;

  /** Subject of the operation, such as `hub.integrations.create`; identifies a change whose action is `UNKNOWN`. */
  @IsString() operation!: string;

  @Nullable() @IsString() resourceId!: string | null;
  @Nullable() @IsString() resourceName!: string | null;

  /** Short summary of the new value. */
  @Nullable() @IsString() @MaxLength(1000) value!: string | null;

  @IsISO8601() recordedAt!: string;
}

export interface ReportedChange {
  operation: Operation;
  /** Id and name of what was changed. */
  id: string;
  name: string;
  value?: string;
}

/** Entry of a change outside of admin. */
export function auditEntryOf(caller: WorkspaceCaller, { operation, id, name, value }: ReportedChange): AuditEntry {
  return {
    requestId: caller.requestId,
    workspaceId: caller.workspace.id,
    accountId: caller.account?.id,
    email: caller.account?.email,
    address: caller.address,
    action: 'UNKNOWN',
    operation: operation.subject,
    resourceId: id,
    resourceName: name,
    value: value ?? null,
    recordedAt: new Date().toISOString(),
  };
}

/** Published by hub and runtime. The admin service records its own changes within their transaction. */
export const administrativeChange = event({ subject: 'hub.administrativeChange', data: AuditEntry });

export const recordChange = consumer({ name: 'admin.recordChange', event: administrativeChange });

/** Audit log entry as the API returns it. */
export class AuditRecord {
  @IsString() id!: string;
  @IsString() recordedAt!: string;

  /** Account that made the request; null for an API key. */
  @Nullable() @IsString() userId!: string | null;

  @Nullable() @IsString() userEmail!: string | null;
  @Nullable() @IsString() resourceId!: string | null;
  @Nullable() @IsString() resourceName!: string | null;
  @Nullable() @IsString() value!: string | null;
  @IsIn(auditActions) action!: AuditAction;

  /** Subject of the operation, such as `hub.integrations.create`; identifies a change whose action is `UNKNOWN`. */
  @IsString() operation!: string;

  /** Network address of the client. */
  @Nullable() @IsString() address!: string | null;
}

export class AuditRecords {
  @ListOf(AuditRecord) records!: AuditRecord[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class ListAuditRecords extends PageQuery {
  /** Workspace id. */
  @PathParam() id!: string;
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
