import { Injectable } from '@nestjs/common';
import type { AuditAction, AuditEntry } from '@parley/contracts/admin/audit';
import type { Caller } from '@parley/contracts/caller';
import type { Operation } from '@parley/contracts/operation';
import type { PageQuery } from '@parley/contracts/paging';
import { Database, type Transaction } from '@parley/persistence/database';
import { newId } from '@parley/persistence/ids';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { AuditRecordEntity, type AuditRecordRow } from './audit-record.entity';

export interface AuditedChange {
  workspaceId: string;
  action: AuditAction;
  operation: Operation;
  resourceId?: string;
  resourceName?: string;
  /** Summary of the new value. Never a secret. */
  value?: string;
}

const newestFirst = new Keyset<AuditRecordRow>([
  { sql: 'recorded_at', type: 'timestamptz', of: (row) => row.recorded_at },
  { sql: 'id', type: 'text', of: (row) => row.id },
]);

@Injectable()
export class AuditRepository {
  constructor(private readonly database: Database) {}

  async insertChange(tx: Transaction, caller: Caller, change: AuditedChange): Promise<void> {
    const { operation, ...rest } = change;
    await this.insertRecord(tx, {
      ...rest,
      operation: operation.subject,
      accountId: caller.account?.id,
      email: caller.account?.email,
      address: caller.address,
      requestId: caller.requestId,
    });
  }

  async insertReported(tx: Transaction, entry: AuditEntry): Promise<void> {
    await this.insertRecord(tx, entry);
  }

  /** Index audit_record_recorded. */
  async listNewestOfWorkspace(workspaceId: string, query: PageQuery) {
    const limit = pageSize(query);
    const boundTo = [workspaceId];
    const values: unknown[] = [workspaceId];
    const rows = await this.database.query<AuditRecordRow>(
      `SELECT id, account_id, email, address, action, operation, resource_id, resource_name, value, recorded_at
       FROM audit_record
       WHERE workspace_id = $1 AND ${newestFirst.after(query.nextToken, boundTo, values)}
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, boundTo);
  }

  private async insertRecord(tx: Transaction, entry: NewRecord): Promise<void> {
    await tx.manager.insert(AuditRecordEntity, {
      id: newId('audit'),
      workspace_id: entry.workspaceId,
      account_id: entry.accountId,
      email: entry.email,
      address: entry.address,
      action: entry.action,
      operation: entry.operation,
      resource_id: entry.resourceId,
      resource_name: entry.resourceName,
      value: entry.value?.slice(0, 1000),
      request_id: entry.requestId,
      recorded_at: entry.recordedAt && new Date(entry.recordedAt),
    });
  }
}

/** Unknown fields are absent or null; `recordedAt` defaults to now. */
type NewRecord = Pick<AuditEntry, 'requestId' | 'workspaceId' | 'action' | 'operation'> & Partial<AuditEntry>;
