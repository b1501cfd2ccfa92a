import { Check, Column, Entity, PrimaryColumn } from 'typeorm';
import type { RowKey } from '@parley/contracts/tables/reindex';

/** Embedding model of the points of all rows. One row at most. */
@Entity('row_model')
@Check('row_model_single', 'is_only')
export class RowModelEntity {
  @PrimaryColumn('boolean', { default: true }) is_only!: true;
  @Column('text') model!: string;

  /** Rows from here on are still to be marked for this model; null when all are. */
  @Column('jsonb', { nullable: true }) next!: RowKey | null;
}
