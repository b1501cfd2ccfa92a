import type { WorkspaceMember } from '@parley/contracts/admin/members';
import type { Role } from '@parley/contracts/caller';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, ForeignKey, Index } from 'typeorm';
import { AccountEntity } from '../accounts/account.entity';

/** Member of a workspace: an account with a role. */
@Entity('workspace_member')
@Check('workspace_member_role_check', "role IN ('owner', 'administrator', 'manager', 'developer', 'billing', 'viewer')")
@Index('workspace_member_account', ['account_id'])
@Index('workspace_member_id', ['id'], { unique: true })
@Index('workspace_member_created', ['workspace_id', 'created_at', 'id'])
export class MemberEntity {
  @PrimaryIdColumn()
  @ForeignKey('WorkspaceEntity', { onDelete: 'CASCADE' })
  workspace_id!: string;

  @PrimaryIdColumn()
  @ForeignKey('AccountEntity', { onDelete: 'CASCADE' })
  account_id!: string;

  @Column('text')
  role!: Role;

  @TimestampColumn()
  created_at!: Date;

  @IdColumn()
  id!: string;
}

export type MemberRow = Omit<MemberEntity, 'workspace_id'> &
  Pick<AccountEntity, 'email' | 'profile_picture' | 'display_name'>;

export function toMember(row: MemberRow): WorkspaceMember {
  return {
    id: row.id,
    userId: row.account_id,
    email: row.email,
    createdAt: row.created_at.toISOString(),
    role: row.role,
    profilePicture: row.profile_picture ?? undefined,
    displayName: row.display_name ?? undefined,
  };
}
