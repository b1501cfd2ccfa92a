import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey, Index, PrimaryColumn } from 'typeorm';

/** Logical clock with one row. Its lock serialises all changes of counters: changes up to this time are committed. */
@Entity('counter_clock')
// Index on the constant `true`, which allows one row.
@Index('counter_clock_one', { synchronize: false })
export class CounterClockEntity {
  /** `bigint`, which arrives as text. The table has no primary key, but TypeORM requires one. */
  @PrimaryColumn('bigint') time!: string;
}

/**
 * Versioned counters of an integration for stable pagination of lists that are sorted by them. An integration without a
 * row was neither viewed nor installed.
 */
@Entity('integration_counter')
@Index('integration_counter_current', ['integration_id'], { unique: true, where: 'valid_to = 9223372036854775807' })
@Index('integration_counter_closed', ['closed_at'], { where: 'closed_at IS NOT NULL' })
export class IntegrationCounterEntity {
  @PrimaryIdColumn() @ForeignKey('IntegrationEntity', { onDelete: 'CASCADE' }) integration_id!: string;
  @Column('integer') installs!: number;

  /** `bigint`, which arrives as text. */
  @Column('bigint') views!: string;

  /** Time of `counter_clock`: `bigint`, which arrives as text. */
  @PrimaryColumn('bigint') valid_from!: string;

  /** Time of `counter_clock`, as text; the largest `bigint` in the current row. */
  @Column('bigint', { default: '9223372036854775807' }) valid_to!: string;

  @Column('timestamptz', { nullable: true }) closed_at!: Date | null;
}
