import { IdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Table number whose rows are inaccessible and wait for deletion. */
@Entity('dropped_rows')
@Index('dropped_rows_bot', ['bot_id'])
export class DroppedRowsEntity {
  /** `bigint`, which arrives as text. */
  @PrimaryColumn('bigint')
  number!: string;

  @IdColumn()
  bot_id!: string;

  @Column('timestamptz', { default: () => 'now()' })
  due_at!: Date;
}
