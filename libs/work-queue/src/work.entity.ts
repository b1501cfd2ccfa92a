import type { WorkState } from '@parley/contracts/work';
import { PrimaryIdColumn, IdColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Generated, Index, PrimaryColumn } from 'typeorm';

/** Background work of a service. */
@Entity('work')
@Check('work_state_check', `state IN ('ready', 'waiting', 'queued', 'parked', 'running', 'failed')`)
@Check('work_position_check', `(state = 'ready') = (position IS NOT NULL)`)
@Check('work_lease_check', `(state = 'running') = (lease IS NOT NULL)`)
@Index('work_ready', ['queue', 'position', 'id'], { where: `state = 'ready'` })
@Index('work_ready_of_tenant', ['queue', 'tenant', 'position'], { where: `state = 'ready'` })
@Index('work_due', ['due_at'], { where: 'due_at IS NOT NULL' })
@Index('work_ordered', ['queue', 'ordering_key', 'id'], { where: `ordering_key IS NOT NULL AND state <> 'failed'` })
@Index('work_running_of_key', ['queue', 'ordering_key'], {
  unique: true,
  where: `ordering_key IS NOT NULL AND state = 'running'`,
})
@Index('work_parked', ['queue', 'waits_for'], { where: `state = 'parked'` })
export class WorkEntity {
  @PrimaryColumn('text') queue!: string;
  @PrimaryIdColumn() key!: string;

  /** Order of adding. `bigint`, which arrives as text. */
  @Column('bigint') @Generated('increment') id!: string;

  @IdColumn() tenant!: string;
  @IdColumn({ nullable: true }) ordering_key!: string | null;
  @Column('jsonb') payload!: unknown;
  @Column('text') state!: WorkState;

  /**
   * Fair queueing: claims take the lowest position. Tenants with much work get positions behind those of others.
   * `bigint`, which arrives as text.
   */
  @Column('bigint', { nullable: true }) position!: string | null;

  /** When it became ready the last time, for figures. */
  @Column('timestamptz', { nullable: true }) ready_at!: Date | null;

  @Column('timestamptz', { nullable: true }) due_at!: Date | null;
  @IdColumn({ nullable: true }) waits_for!: string | null;

  /** Fencing token: a new one with each claim. */
  @IdColumn({ nullable: true }) lease!: string | null;

  /** Process that has claimed the work last. */
  @Column('text', { nullable: true }) worker!: string | null;

  /** Added once more while it was running. */
  @Column('boolean', { default: false }) again!: boolean;

  @Column('integer', { default: 0 }) attempts!: number;

  /** Those of the attempts that failed, and did not end with their process. */
  @Column('integer', { default: 0 }) failures!: number;

  @Column('text', { nullable: true }) last_error!: string | null;
  @Column('text', { nullable: true }) traceparent!: string | null;
  @Column('timestamptz', { default: () => 'now()' }) created_at!: Date;
}
