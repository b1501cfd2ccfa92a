import type { AccountProfile } from '@parley/contracts/admin/accounts';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** Account of a person, who signs in with personal access tokens. The unique index is on `lower(email)`. */
@Entity('account')
@Index('account_email', { synchronize: false })
export class AccountEntity {
  @PrimaryIdColumn() id!: string;
  @Column('text') email!: string;
  @TimestampColumn() created_at!: Date;
  @Column('text', { nullable: true }) display_name!: string | null;
  @Column('text', { nullable: true }) profile_picture!: string | null;
}

/** Unused link to the console, with which a person signs in. */
@Entity('console_link')
@Index('console_link_account', ['account_id'])
@Index('console_link_valid_until', ['valid_until'])
export class ConsoleLinkEntity {
  /** SHA-256 of the code. */
  @PrimaryColumn('text') hash!: string;

  @IdColumn() @ForeignKey(() => AccountEntity, { onDelete: 'CASCADE' }) account_id!: string;
  @Column({ type: 'timestamptz', precision: 3 }) valid_until!: Date;
}

export function toProfile(row: AccountEntity): AccountProfile {
  return {
    id: row.id,
    email: row.email,
    displayName: row.display_name ?? undefined,
    emailVerified: true,
    profilePicture: row.profile_picture ?? undefined,
    createdAt: row.created_at.toISOString(),
  };
}
