import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey } from 'typeorm';

/** Preference of an account. */
@Entity('account_preference')
export class AccountPreferenceEntity {
  @PrimaryIdColumn() @ForeignKey('AccountEntity', { onDelete: 'CASCADE' }) account_id!: string;
  @PrimaryIdColumn() key!: string;

  /** `json` keeps the text of a value unchanged; `jsonb` would not. */
  @Column('json') value!: unknown;
}

/** Preference of a workspace. */
@Entity('workspace_preference')
export class WorkspacePreferenceEntity {
  @PrimaryIdColumn() @ForeignKey('WorkspaceEntity', { onDelete: 'CASCADE' }) workspace_id!: string;
  @PrimaryIdColumn() key!: string;

  /** `json` keeps the text of a value unchanged; `jsonb` would not. */
  @Column('json') value!: unknown;
}
