import { Cron } from 'croner';

/** Highest values of minute, hour, day of month, month and day of week; a sixth field, seconds, precedes them. */
const highest = [59, 23, 31, 12, 7];
const highestStep = [60, 24, 31, 12, 7];

/** First matching time after `after`, in UTC; null if there is none, as for 30 February. */
export function nextTime(cron: string, after: Date): Date | null {
  return new Cron(asCronerReadsIt(cron), { timezone: 'UTC', paused: true }).nextRun(after);
}

export interface NextTime {
  next_at: Date | null;
  period_seconds: number;
}

/** Next time that is in the future and at least `minSeconds` after the previous due time. */
export function nextTimeAfter(cron: string, now: Date, { dueAt, minSeconds }: LastTime): NextTime {
  return withPeriod(nextTime(cron, new Date(Math.max(+now, +dueAt + minSeconds * 1000 - 1))), now);
}

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

/**
 * Adapts the expression for the library Croner, which supports neither a start with a step (`5/15`) nor a step beyond
 * the range (`0-59/99` in the field of minutes).
 */
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
