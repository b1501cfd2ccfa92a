import { Entity, PrimaryColumn } from 'typeorm';

/** Deleted row whose point has to be removed from the passage index. */
@Entity('dropped_point')
export class DroppedPointEntity {
  /** `bigint`, which arrives as text. */
  @PrimaryColumn('bigint') table_number!: string;

  @PrimaryColumn('integer') row_id!: number;
}
