import type { WorkspaceMember } from '@parley/contracts/admin/members';
import type { AccountEntity } from '../accounts/account.entity';
import type { MemberEntity } from '../roles/member.entity';

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
