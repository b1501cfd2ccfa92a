import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Event that a consumer has handled. */
@Entity('inbox')
@Index('inbox_received', ['received_at'])
export class InboxEntity {
  @PrimaryColumn('text') consumer!: string;
  @PrimaryIdColumn() event_id!: string;
  @Column('timestamptz', { default: () => 'now()' }) received_at!: Date;
}
