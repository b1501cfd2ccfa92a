import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Event that waits for a consumer, in the embedded mode. */
@Entity('delivery')
@Index('delivery_due', ['consumer', 'due_at'])
export class DeliveryEntity {
  @PrimaryColumn('text')
  consumer!: string;

  @PrimaryIdColumn()
  event_id!: string;

  @Column('text')
  subject!: string;

  @Column('jsonb')
  data!: unknown;

  @Column('integer', { default: 0 })
  attempts!: number;

  @Column('timestamptz', { default: () => 'now()' })
  due_at!: Date;

  @Column('text', { nullable: true })
  last_error!: string | null;

  @Column('text', { nullable: true })
  traceparent!: string | null;
}
