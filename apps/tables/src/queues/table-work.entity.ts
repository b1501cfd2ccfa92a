import { IdColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';
import type { WorkKind } from '../schema/dirty-flags';

/** Queue entry of a table with rows to compute or to index. */
@Entity('table_work')
@Check('table_work_kind_check', `kind IN ('compute', 'index')`)
@Index('table_work_due', ['due_at'])
export class TableWorkEntity {
  /** `bigint`, which arrives as text. */
  @PrimaryColumn('bigint')
  table_number!: string;

  @PrimaryColumn('text')
  kind!: WorkKind;

  /** Infinity, a number, while a worker has the table and no work was added. */
  @Column('timestamptz', { default: () => 'now()' })
  due_at!: Date | number;

  /** Current lease, the only one that may write. */
  @IdColumn({ nullable: true })
  lease!: string | null;

  /** Last heartbeat of the lease. */
  @Column('timestamptz', { nullable: true })
  taken_at!: Date | null;

  @Column('integer', { default: 0 })
  attempts!: number;

  @Column('text', { nullable: true })
  last_error!: string | null;
}
