import type { Role } from '@parley/contracts/caller';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, ForeignKey, Index } from 'typeorm';

/** Member of a workspace: an account with a role. */
@Entity('workspace_member')
@Check('workspace_member_role_check', "role IN ('owner', 'administrator', 'manager', 'developer', 'billing', 'viewer')")
@Index('workspace_member_account', ['account_id'])
@Index('workspace_member_id', ['id'], { unique: true })
@Index('workspace_member_created', ['workspace_id', 'created_at', 'id'])
export class MemberEntity {
  @PrimaryIdColumn() @ForeignKey('WorkspaceEntity', { onDelete: 'CASCADE' }) workspace_id!: string;
  @PrimaryIdColumn() @ForeignKey('AccountEntity', { onDelete: 'CASCADE' }) account_id!: string;
  @Column('text') role!: Role;
  @TimestampColumn() created_at!: Date;
  @IdColumn() id!: string;
}
