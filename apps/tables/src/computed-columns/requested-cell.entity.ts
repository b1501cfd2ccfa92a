import type { ComputedAction } from '@parley/contracts/tables/table-schema';
import { IdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Stale cell whose value was requested from the bot or from a workflow. */
@Entity('requested_cell')
@Index('requested_cell_expires', ['expires_at'])
export class RequestedCellEntity {
  /** `bigint`, which arrives as text. */
  @PrimaryColumn('bigint') table_number!: string;

  @PrimaryColumn('integer') row_id!: number;
  @PrimaryColumn({ type: 'text', collation: 'C' }) column_key!: string;
  @IdColumn() bot_id!: string;
  @IdColumn() action!: ComputedAction;

  /** As in RowToCompute. */
  @IdColumn() version!: string;

  /** The cell is requested again when no answer has arrived until then. */
  @Column('timestamptz') expires_at!: Date;
}
