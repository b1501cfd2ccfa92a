import type { AccountProfile } from '@parley/contracts/admin/accounts';
import { PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

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
