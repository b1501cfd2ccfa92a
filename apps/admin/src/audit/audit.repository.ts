import { Injectable } from '@nestjs/common';
import type { AuditAction } from '@parley/contracts/admin/audit';
import type { Caller } from '@parley/contracts/caller';
import type { Operation } from '@parley/contracts/operation';
import type { Transaction } from '@parley/database/database';
import { newId } from '@parley/database/ids';

export interface AuditedChange {
  workspaceId: string;
  action: AuditAction;
  operation: Operation;
  resourceId?: string;
  resourceName?: string;
  /** What it was changed to, in short. Never a secret. */
  value?: string;
}

@Injectable()
export class AuditRepository {
  /** Records who did it and from where, in the transaction of the change itself. */
  async add(tx: Transaction, caller: Caller, change: AuditedChange): Promise<void> {
    await tx.query(
      `INSERT INTO audit_record (id, workspace_id, account_id, email, address, action, operation, resource_id,
         resource_name, value, request_id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, left($10, 1000), $11)`,
      [
        newId('audit'),
        change.workspaceId,
        caller.account?.id ?? null,
        caller.account?.email ?? null,
        caller.address ?? null,
        change.action,
        change.operation.subject,
        change.resourceId ?? null,
        change.resourceName ?? null,
        change.value ?? null,
        caller.requestId,
      ],
    );
  }
}
