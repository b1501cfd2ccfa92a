import type { BotCaller } from '@parley/contracts/access';
import type { Event, EventStatus } from '@parley/contracts/chat/events';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Index } from 'typeorm';
import { shownName } from '../queries/scope';

/** Event that the bot receives. */
@Entity('event')
@Check('event_status_check', `status IN ('pending', 'processed', 'ignored', 'failed', 'scheduled', 'canceled')`)
@Index('event_status', ['bot_id', 'status', 'id'])
@Index('event_type', ['bot_id', 'type', 'id'])
@Index('event_integration', ['bot_id', 'integration_alias', 'id'], { where: 'integration_alias IS NOT NULL' })
@Index('event_conversation', ['bot_id', 'conversation_id', 'id'], { where: 'conversation_id IS NOT NULL' })
@Index('event_user', ['bot_id', 'user_id', 'id'], { where: 'user_id IS NOT NULL' })
@Index('event_message', ['bot_id', 'message_id', 'id'], { where: 'message_id IS NOT NULL' })
@Index('event_workflow', ['bot_id', 'workflow_id', 'id'], { where: 'workflow_id IS NOT NULL' })
@Index('event_due', ['due_at'], { where: `status = 'scheduled' AND payload IS NOT NULL` })
export class EventEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() id!: string;

  /** As the bot sees it: types of integrations have the form `alias:type`. */
  @IdColumn() type!: string;

  /** Null for `message_created`: assembled on read from the message, its user and its conversation. */
  @Column('jsonb', { nullable: true }) payload!: Record<string, unknown> | null;

  @IdColumn({ nullable: true }) integration_alias!: string | null;
  @IdColumn({ nullable: true }) conversation_id!: string | null;
  @IdColumn({ nullable: true }) user_id!: string | null;
  @IdColumn({ nullable: true }) message_id!: string | null;
  @IdColumn({ nullable: true }) workflow_id!: string | null;

  /** Recurring event of the bot's definition that it was created for. */
  @IdColumn({ nullable: true }) recurring_name!: string | null;

  @Column('text') status!: EventStatus;
  @Column('text', { nullable: true }) failure_reason!: string | null;

  /** How many times it was replayed. */
  @Column('smallint', { default: 0 }) replays!: number;

  /** Null if the event was never scheduled. */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) due_at!: Date | null;

  /** Derived from the id, so that both have the same order. */
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
}

export function toEvent(
  caller: Pick<BotCaller, 'integration'>,
  row: EventEntity,
  payload: Record<string, unknown>,
): Event {
  return {
    id: row.id,
    createdAt: row.created_at.toISOString(),
    type: shownName(caller, row.type) ?? row.type,
    payload,
    conversationId: row.conversation_id ?? undefined,
    userId: row.user_id ?? undefined,
    messageId: row.message_id ?? undefined,
    status: row.status,
    failureReason: row.failure_reason,
  };
}

/** Recurring event of the bot's definition, with its next due time. */
@Entity('recurring_event')
@Index('recurring_event_due', ['next_at'], { where: 'next_at IS NOT NULL' })
// Expression: the time when next_at was computed.
@Index('recurring_event_computed', { synchronize: false })
export class RecurringEventEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() name!: string;
  @IdColumn() type!: string;
  @Column('jsonb') payload!: Record<string, unknown>;
  @Column('text') cron!: string;

  /** Null if the expression never matches again. */
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) next_at!: Date | null;

  /**
   * Distance of `next_at` from the time of its computation. If `next_at` is further away than that, the clock went back
   * since, and it is computed again. 0: always computed again.
   */
  @Column('integer', { default: 0 }) period_seconds!: number;

  /** Failures since the last success, and since the event was changed. */
  @Column('integer', { default: 0 }) failed_attempts!: number;

  /** Time of the last change of `failed_attempts`, strictly increasing. */
  @Column({ type: 'timestamptz', precision: 3, default: '-infinity' }) settled_at!: Date;
}

/** Newest stored revision of the bot's recurring events, so that an older one that arrives late has no effect. */
@Entity('recurring_revision')
export class RecurringRevisionEntity {
  @PrimaryIdColumn() bot_id!: string;

  /** `bigint`, which arrives as text. */
  @Column('bigint') revision!: string;
}
