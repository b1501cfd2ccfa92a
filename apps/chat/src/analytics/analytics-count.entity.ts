import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Custom count of a bot on one day in UTC. */
@Entity('analytics_count')
@Index('analytics_count_day', ['day'])
export class AnalyticsCountEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryColumn('date') day!: string;
  @PrimaryIdColumn() name!: string;

  /** `bigint`: a string. */
  @Column('bigint') count!: string;
}
