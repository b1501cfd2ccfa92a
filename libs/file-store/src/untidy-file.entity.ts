import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Entry of the cleanup queue: a file that may have blobs, passages or points that it no longer needs. */
@Entity('untidy_file')
@Index('untidy_file_due', ['due_at'])
export class UntidyFileEntity {
  @PrimaryIdColumn()
  file_id!: string;

  @IdColumn()
  bot_id!: string;

  @Column('timestamptz', { default: () => 'now()' })
  due_at!: Date;
}
