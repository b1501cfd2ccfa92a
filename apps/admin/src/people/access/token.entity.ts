import type { TokenEntry } from '@parley/contracts/admin/tokens';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, ForeignKey, Index } from 'typeorm';

/** Personal access token of an account, API key of a bot, or API key of an integration of a workspace. */
@Entity('token')
@Check('token_kind_check', "kind IN ('pat', 'bak', 'iak')")
@Check('token_holder_check', 'num_nonnulls(account_id, bot_id, integration_id) = 1')
@Check('token_workspace_check', '(integration_id IS NULL) = (workspace_id IS NULL)')
@Index('token_account', ['account_id'], { where: 'account_id IS NOT NULL' })
@Index('token_bot', ['bot_id'], { where: 'bot_id IS NOT NULL' })
@Index('token_integration', ['integration_id'], { where: 'integration_id IS NOT NULL' })
@Index('token_valid_until', ['valid_until'], { where: 'valid_until IS NOT NULL' })
@Index('token_workspace', ['workspace_id'], { where: 'workspace_id IS NOT NULL' })
export class TokenEntity {
  @PrimaryIdColumn() id!: string;
  @Column('text') kind!: 'pat' | 'bak' | 'iak';
  @Column('text', { unique: true }) hash!: string;
  @Column('text') preview!: string;
  @Column('text') note!: string;
  @IdColumn({ nullable: true }) @ForeignKey('AccountEntity', { onDelete: 'CASCADE' }) account_id!: string | null;
  @IdColumn({ nullable: true }) @ForeignKey('BotEntity', { onDelete: 'CASCADE' }) bot_id!: string | null;
  @TimestampColumn() created_at!: Date;

  /** Integration of the hub. */
  @IdColumn({ nullable: true }) integration_id!: string | null;

  /** Workspace of the integration; null for other kinds. */
  @IdColumn({ nullable: true }) @ForeignKey('WorkspaceEntity', { onDelete: 'CASCADE' }) workspace_id!: string | null;

  /** Version of the bot, or revision of the integration, whose code uses the key. Such keys are not listed. */
  @IdColumn({ nullable: true }) version_id!: string | null;

  /** Null without an end. */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) valid_until!: Date | null;
}

export type TokenRow = Pick<TokenEntity, 'id' | 'note' | 'created_at'>;

export function toTokenEntry({ id, note, created_at }: TokenRow): TokenEntry {
  return { id, note, createdAt: created_at.toISOString() };
}
