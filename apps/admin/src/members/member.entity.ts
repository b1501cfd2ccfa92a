import type { WorkspaceMember } from '@parley/contracts/admin/members';
import type { Role } from '@parley/contracts/caller';

export interface MemberRow {
  id: string;
  account_id: string;
  email: string;
  role: Role;
  created_at: Date;
  profile_picture: string | null;
  display_name: string | null;
}

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
