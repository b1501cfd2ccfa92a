import type { PublicWorkspace, Workspace, WorkspaceLabel } from '@parley/contracts/admin/workspaces';

export interface WorkspaceRow {
  id: string;
  name: string;
  owner_id: string;
  handle: string | null;
  about: string;
  profile_picture: string;
  contact_email: string;
  website: string;
  social_accounts: string[];
  is_public: boolean;
  /** Workspace of the platform's operator, created at the first start. */
  is_operators: boolean;
  blocked: boolean;
  created_at: Date;
  updated_at: Date;
  /** Text: Postgres returns `count(*)` as bigint. */
  bot_count: string;
}

export function toWorkspace(row: WorkspaceRow): Workspace {
  return {
    id: row.id,
    name: row.name,
    ownerId: row.owner_id,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    botCount: Number(row.bot_count),
    // Constants for API compatibility: this platform has no billing.
    billingVersion: 'v1',
    plan: 'community',
    spendingLimit: 0,
    activeTrialId: null,
    blocked: row.blocked,
    about: row.about,
    profilePicture: row.profile_picture,
    contactEmail: row.contact_email,
    website: row.website,
    socialAccounts: row.social_accounts,
    isPublic: row.is_public,
    handle: row.handle ?? undefined,
  };
}

export type LabelRow = Pick<WorkspaceRow, 'id' | 'name' | 'handle' | 'updated_at'>;

export function toLabel({ id, name, handle, updated_at }: LabelRow): WorkspaceLabel {
  return { id, name, handle, updatedAt: updated_at.toISOString() };
}

export type PublicRow = Omit<WorkspaceRow, 'owner_id' | 'is_public' | 'is_operators' | 'blocked' | 'bot_count'>;

export function toPublicWorkspace(row: PublicRow): PublicWorkspace {
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    about: row.about,
    profilePicture: row.profile_picture,
    contactEmail: row.contact_email,
    website: row.website,
    socialAccounts: row.social_accounts,
    handle: row.handle ?? '',
  };
}
