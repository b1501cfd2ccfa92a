import { IdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** Unused link to the console. */
@Entity('console_link')
@Index('console_link_account', ['account_id'])
@Index('console_link_valid_until', ['valid_until'])
export class ConsoleLinkEntity {
  /** SHA-256 of the code. */
  @PrimaryColumn('text') hash!: string;

  @IdColumn() @ForeignKey('AccountEntity', { onDelete: 'CASCADE' }) account_id!: string;
  @Column({ type: 'timestamptz', precision: 3 }) valid_until!: Date;
}
