import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Unique } from 'typeorm';

/** Event that a consumer could not handle in all attempts. */
@Entity('dead_letter')
@Unique(['consumer', 'event_id'])
export class DeadLetterEntity {
  @PrimaryIdColumn() id!: string;
  @Column('text') consumer!: string;
  @IdColumn() event_id!: string;
  @Column('text') subject!: string;
  @Column('jsonb') data!: unknown;
  @Column('integer') attempts!: number;
  @Column('text') reason!: string;
  @Column('timestamptz', { default: () => 'now()' }) created_at!: Date;
}
