import { maxAheadMs, type Postponement } from '@parley/contracts/chat/postponement';
import { ApiError } from '@parley/contracts/errors';

/** Due time; undefined means now. Throws InvalidPayload unless exactly one valid time at most a year ahead is given. */
export function dueTime(schedule: Postponement | undefined, now: Date): Date | undefined {
  if (!schedule) return undefined;
  const { dateTime, delay } = schedule;
  if ((dateTime === undefined) === (delay === undefined))
    throw new ApiError('InvalidPayload', 'schedule must have either dateTime or delay.');
  const due = new Date(dateTime ?? now.getTime() + delay!);
  if (Number.isNaN(due.getTime()))
    throw new ApiError('InvalidPayload', 'schedule.dateTime must be a time such as 2026-01-31T12:00:00.000Z.');
  if (due.getTime() - now.getTime() > maxAheadMs)
    throw new ApiError('InvalidPayload', 'schedule must be at most a year ahead.');
  return due > now ? due : undefined;
}
