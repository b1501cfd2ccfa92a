import type { AuditAction, AuditRecord } from '@parley/contracts/admin/audit';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Audit record of a change in a workspace. It outlives accounts, bots and other resources: no foreign keys to them. */
@Entity('audit_record')
@Index('audit_record_recorded', ['workspace_id', 'recorded_at', 'id'])
export class AuditRecordEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() workspace_id!: string;
  @IdColumn({ nullable: true }) account_id!: string | null;
  @Column('text', { nullable: true }) email!: string | null;
  @Column('text', { nullable: true }) address!: string | null;
  @Column('text') action!: AuditAction;
  @Column('text') operation!: string;
  @IdColumn({ nullable: true }) resource_id!: string | null;
  @Column('text', { nullable: true }) resource_name!: string | null;
  @Column('text', { nullable: true }) value!: string | null;
  @Column('text') request_id!: string;
  @TimestampColumn() recorded_at!: Date;
}

export type AuditRecordRow = Omit<AuditRecordEntity, 'workspace_id' | 'request_id'>;

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
