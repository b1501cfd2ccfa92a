import { cronPattern } from '@parley/contracts/cron';
import type { RecurringEventDefinition } from '@parley/contracts/definition';
import { ApiError } from '@parley/contracts/errors';
import type { AdminConfig } from '../../config';

type Limits = Pick<AdminConfig, 'recurringMinSeconds' | 'eventRetentionDays'>;

const daysOfYear = 366;
const daySeconds = 24 * 60 * 60;

/** Throws InvalidPayload for a schedule whose shortest interval is below the limit. */
export function checkRecurringEvents(
  events: Record<string, RecurringEventDefinition | null> = {},
  { recurringMinSeconds }: Limits,
  path = '',
): void {
  for (const [name, event] of Object.entries(events)) {
    if (!event) continue;
    const { shortestGapSeconds } = cronPattern(event.schedule.cron);
    if (shortestGapSeconds >= recurringMinSeconds) continue;
    throw new ApiError(
      'InvalidPayload',
      `${path}recurringEvents.${name}.schedule.cron must leave at least ${recurringMinSeconds} seconds between two events, got ${shortestGapSeconds}.`,
    );
  }
}

/** Upper bound in bytes for the payloads that these events store within the retention time. */
export function recurringBytes(
  events: Record<string, RecurringEventDefinition>,
  { recurringMinSeconds, eventRetentionDays }: Limits,
): number {
  const mostTimes = (eventRetentionDays * daySeconds) / recurringMinSeconds;
  return Object.values(events).reduce((sum, { schedule, payload }) => {
    const times = (cronPattern(schedule.cron).timesPerYear * eventRetentionDays) / daysOfYear;
    return sum + Math.ceil(Math.min(times, mostTimes)) * Buffer.byteLength(JSON.stringify(payload));
  }, 0);
}
