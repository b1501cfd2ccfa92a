import type { DailyUsage, UsageActivity, UsageType } from '@parley/contracts/admin/usage';
import { PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, ForeignKey, Index } from 'typeorm';

/** Usage of one day: the last value of the day. Primary key: workspace, type, bot, day. */
@Entity('usage')
@Index('usage_changed', ['workspace_id', 'type', 'changed_at', 'bot_id'])
@Index('usage_day', ['workspace_id', 'type', 'day', 'bot_id'])
export class UsageEntity {
  @PrimaryIdColumn() @ForeignKey('WorkspaceEntity', { onDelete: 'CASCADE' }) workspace_id!: string;

  /** Empty for usage without a bot. */
  @PrimaryIdColumn() bot_id!: string;

  @PrimaryIdColumn() type!: UsageType;

  /** UTC, formatted as 2026-01-31. */
  @PrimaryIdColumn() day!: string;

  @Column('double precision') value!: number;
  @Column({ type: 'timestamptz', precision: 3 }) changed_at!: Date;
}

export interface UsageSubject {
  id: string;
  workspace_id: string;
  /** Empty for the whole workspace. */
  bot_id: string;
}

export interface AmountRow {
  id: string;
  type: UsageType;
  value: number;
}

export type UsageRow = Omit<UsageEntity, 'type'>;

export function toActivity(row: UsageRow): UsageActivity {
  return {
    timestamp: row.changed_at.toISOString(),
    value: row.value,
    period: monthOf(row.day),
    metadata: row.bot_id ? { botId: row.bot_id } : {},
  };
}

export function toDailyUsage(row: UsageRow): DailyUsage {
  return { key: `${row.bot_id || row.workspace_id}:${row.day}`, date: row.day, value: row.value };
}

/** Month of a day or an ISO time: `2026-01` for `2026-01-31`. */
export function monthOf(time: string): string {
  return time.slice(0, 7);
}

export function dayOf(time: Date): string {
  return time.toISOString().slice(0, 10);
}
