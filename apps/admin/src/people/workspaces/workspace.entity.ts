import type { PublicWorkspace, Workspace, WorkspaceLabel } from '@parley/contracts/admin/workspaces';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey, Index } from 'typeorm';

/** Workspace, which owns bots and integrations. */
@Entity('workspace')
@Index('workspace_handle', ['handle'], { unique: true })
@Index('workspace_public', ['created_at', 'id'], { where: 'is_public' })
@Index('workspace_operators', ['is_operators'], { unique: true, where: 'is_operators' })
export class WorkspaceEntity {
  @PrimaryIdColumn() id!: string;
  @Column('text') name!: string;
  @IdColumn() @ForeignKey('AccountEntity') owner_id!: string;
  @Column('text', { nullable: true }) handle!: string | null;
  @Column('text', { default: '' }) about!: string;
  @Column('text', { default: '' }) profile_picture!: string;
  @Column('text', { default: '' }) contact_email!: string;
  @Column('text', { default: '' }) website!: string;
  @Column('jsonb', { default: [] }) social_accounts!: string[];
  @Column('boolean', { default: false }) is_public!: boolean;
  @Column('boolean', { default: false }) blocked!: boolean;
  @TimestampColumn() created_at!: Date;
  @TimestampColumn() updated_at!: Date;

  /** Workspace of the platform's operator, created at the first start. */
  @Column('boolean', { default: false }) is_operators!: boolean;

  /** Most that language models may cost in a month, in billionths of a US dollar; null without a limit. `bigint`: a string. */
  @Column({ type: 'bigint', nullable: true }) budget_cost!: string | null;

  @Column({ type: 'bigint', nullable: true }) budget_tokens!: string | null;

  /** Increases with every change of the budget. */
  @Column('integer', { default: 0 }) budget_version!: number;
}

export interface WorkspaceRow extends WorkspaceEntity {
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

type LabelRow = Pick<WorkspaceEntity, 'id' | 'name' | 'handle' | 'updated_at'>;

export function toLabel({ id, name, handle, updated_at }: LabelRow): WorkspaceLabel {
  return { id, name, handle, updatedAt: updated_at.toISOString() };
}

export type PublicRow = Omit<
  WorkspaceEntity,
  'owner_id' | 'is_public' | 'is_operators' | 'blocked' | `budget_${string}`
>;

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
