import type { AccountProfile } from '@parley/contracts/admin/accounts';

export interface ProfileRow {
  id: string;
  email: string;
  display_name: string | null;
  profile_picture: string | null;
  created_at: Date;
}

export function toProfile(row: ProfileRow): AccountProfile {
  return {
    id: row.id,
    email: row.email,
    displayName: row.display_name ?? undefined,
    emailVerified: true,
    profilePicture: row.profile_picture ?? undefined,
    createdAt: row.created_at.toISOString(),
  };
}
