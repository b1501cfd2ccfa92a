import { Cron } from 'croner';

/** By how many fields there are: minute, hour, day of month, month, day of week, with seconds before them or without. */
const highest = [59, 23, 31, 12, 7];
const highestStep = [60, 24, 31, 12, 7];

/** The first time after this one, in UTC. `null` when there is none, as for the 30th of February. */
export function nextTime(cron: string, after: Date): Date | null {
  return new Cron(asCronerReadsIt(cron), { timezone: 'UTC', paused: true }).nextRun(after);
}

/** When an event comes next, and how far ahead that is. */
export interface NextTime {
  next_at: Date | null;
  period_seconds: number;
}

/** The first time from now on that leaves so many seconds since the one before, for which it was due then. */
export function nextTimeAfter(cron: string, now: Date, { dueAt, minSeconds }: LastTime): NextTime {
  return withPeriod(nextTime(cron, new Date(Math.max(+now, +dueAt + minSeconds * 1000 - 1))), now);
}

/** Of an event that is new, or whose time is wrong. */
export function firstTime(cron: string, now: Date): NextTime {
  return withPeriod(nextTime(cron, now), now);
}

interface LastTime {
  dueAt: Date;
  minSeconds: number;
}

function withPeriod(next: Date | null, now: Date): NextTime {
  return { next_at: next, period_seconds: next ? Math.ceil((+next - +now) / 1000) : 0 };
}

/** It knows neither a start with a step, as in `5/15`, nor a step that leads past the end, as in a field of minutes that is `0-59/99`. */
function asCronerReadsIt(cron: string): string {
  const fields = cron.trim().split(/\s+/);
  const withSeconds = fields.length > highest.length;
  return fields
    .map((field, index) => {
      const part = withSeconds ? Math.max(index - 1, 0) : index;
      return field
        .split(',')
        .map((item) => withoutOddStep(item, part))
        .join(',');
    })
    .join(' ');
}

function withoutOddStep(item: string, part: number): string {
  const [range, step] = item.split('/') as [string, string | undefined];
  if (step === undefined) return item;
  const whole = range === '*' || range.includes('-') ? range : `${range}-${highest[part]}`;
  return `${whole}/${Math.min(Number(step), highestStep[part]!)}`;
}
