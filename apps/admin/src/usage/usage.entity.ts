import type { DailyUsage, UsageActivity, UsageType } from '@parley/contracts/admin/usage';

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

export interface UsageRow {
  workspace_id: string;
  bot_id: string;
  day: string;
  value: number;
  changed_at: Date;
}

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
