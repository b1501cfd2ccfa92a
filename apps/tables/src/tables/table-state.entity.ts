import { Column, Entity, PrimaryColumn } from 'typeorm';

/** State of a table that changes with every insert, and the lock that keeps its rows and its schema consistent. */
@Entity('table_state')
export class TableStateEntity {
  /** Number of the table. `bigint`, which arrives as text. */
  @PrimaryColumn('bigint') number!: string;

  @Column('integer', { default: 1 }) version!: number;

  /** `bigint`, which arrives as text. */
  @Column('bigint', { default: 1 }) next_row_id!: string;
}
