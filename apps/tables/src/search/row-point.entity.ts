import type { RowKey } from '@parley/contracts/tables/reindex';
import { Entity, PrimaryColumn, Check, Column } from 'typeorm';

/** Deleted row whose point has to be removed from the passage index. */
@Entity('dropped_point')
export class DroppedPointEntity {
  /** `bigint`, which arrives as text. */
  @PrimaryColumn('bigint') table_number!: string;

  @PrimaryColumn('integer') row_id!: number;
}

/** Embedding model of the points of all rows. One row at most. */
@Entity('row_model')
@Check('row_model_single', 'is_only')
export class RowModelEntity {
  @PrimaryColumn('boolean', { default: true }) is_only!: true;
  @Column('text') model!: string;

  /** Rows from here on are still to be marked for this model; null when all are. */
  @Column('jsonb', { nullable: true }) next!: RowKey | null;
}
