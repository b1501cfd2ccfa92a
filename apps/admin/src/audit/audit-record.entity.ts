import type { AuditAction, AuditRecord } from '@parley/contracts/admin/audit';

export interface AuditRecordRow {
  id: string;
  account_id: string | null;
  email: string | null;
  address: string | null;
  action: AuditAction;
  operation: string;
  resource_id: string | null;
  resource_name: string | null;
  value: string | null;
  recorded_at: Date;
}

export function toAuditRecord(row: AuditRecordRow): AuditRecord {
  return {
    id: row.id,
    recordedAt: row.recorded_at.toISOString(),
    userId: row.account_id,
    userEmail: row.email,
    resourceId: row.resource_id,
    resourceName: row.resource_name,
    value: row.value,
    action: row.action,
    operation: row.operation,
    address: row.address,
  };
}
