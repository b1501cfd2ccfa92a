import { ValidateBy } from 'class-validator';

interface CronField {
  min: number;
  max: number;
  names?: readonly string[];
}

const months = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const weekdays = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const second: CronField = { min: 0, max: 59 };
const fields: CronField[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  // Sunday is 0 and 7.
  { min: 0, max: 7, names: weekdays },
];

/** Cron expression: minute, hour, day of month, month and day of week, with an optional leading field of seconds. */
export function IsCronExpression(): PropertyDecorator {
  return ValidateBy({
    name: 'isCronExpression',
    validator: {
      validate: (value) => typeof value === 'string' && isCronExpression(value),
      defaultMessage: (args) =>
        `${args?.property ?? ''} must be a cron expression of five fields (minute, hour, day of month, month, day of week) or of six with seconds first, such as "*/5 * * * *"`,
    },
  });
}

function isCronExpression(text: string): boolean {
  const parts = text.trim().split(/\s+/);
  const expected = parts.length === 6 ? [second, ...fields] : fields;
  return parts.length === expected.length && parts.every((part, index) => fits(part, expected[index]!));
}

/** List of `*`, `3` or `3-7`, each with an optional step such as `/2`. */
function fits(part: string, field: CronField): boolean {
  return part.split(',').every((item) => {
    const [range, step, ...rest] = item.split('/');
    if (rest.length > 0 || (step !== undefined && !(/^\d{1,2}$/.test(step) && Number(step) > 0))) return false;
    if (range === '*') return true;
    const ends = range!.split('-').map((end) => valueOf(end, field));
    if (ends.length > 2 || ends.includes(undefined)) return false;
    return ends.length === 1 || ends[0]! <= ends[1]!;
  });
}

function valueOf(text: string, { min, max, names = [] }: CronField): number | undefined {
  const named = names.indexOf(text.toUpperCase());
  const value = named >= 0 ? named + min : /^\d{1,2}$/.test(text) ? Number(text) : NaN;
  return value >= min && value <= max ? value : undefined;
}

/** Frequency of a cron expression, in UTC. */
export interface CronPattern {
  /** Shortest gap between two occurrences; infinite for a single one. */
  shortestGapSeconds: number;
  timesPerYear: number;
}

const daySeconds = 24 * 60 * 60;
/** A leap year, so that it contains every date. */
const yearStart = Date.UTC(2028, 0, 1);
const daysOfYear = 366;

/** Parses an expression that has passed `IsCronExpression`. */
export function cronPattern(cron: string): CronPattern {
  const parts = cron.trim().split(/\s+/);
  const [seconds, ...rest] = parts.length === 6 ? parts : ['0', ...parts];
  const [minutes, hours, days, monthsOfYear, daysOfWeek] = rest as [string, string, string, string, string];
  const times = allValues(hours, fields[1]!).flatMap((hour) =>
    allValues(minutes, fields[0]!).flatMap((minute) =>
      allValues(seconds!, second).map((value) => (hour * 60 + minute) * 60 + value),
    ),
  );
  // One day more, so that the last day of the year has a successor.
  const isDay = dayMatcher(days, monthsOfYear, daysOfWeek);
  const matching = Array.from({ length: daysOfYear + 1 }, (_, day) =>
    isDay(new Date(yearStart + day * daySeconds * 1000)),
  );
  const gaps = times.slice(1).map((time, index) => time - times[index]!);
  const hasNeighbours = matching.some((isMatch, day) => isMatch && matching[day + 1]);
  if (hasNeighbours) gaps.push(daySeconds - times.at(-1)! + times[0]!);
  return {
    shortestGapSeconds: gaps.reduce((shortest, gap) => Math.min(shortest, gap), Infinity),
    timesPerYear: times.length * matching.slice(0, daysOfYear).filter(Boolean).length,
  };
}

/** As in other crons, a day matches either restriction when both day of month and day of week are restricted. */
function dayMatcher(days: string, monthsOfYear: string, daysOfWeek: string): (date: Date) => boolean {
  const isEither = days !== '*' && daysOfWeek !== '*';
  const dates = new Set(allValues(days, fields[2]!));
  const ofYear = new Set(allValues(monthsOfYear, fields[3]!));
  const weekdays = new Set(allValues(daysOfWeek, fields[4]!).map((value) => value % 7));
  return (date) => {
    const [isDate, isWeekday] = [dates.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
    return ofYear.has(date.getUTCMonth() + 1) && (isEither ? isDate || isWeekday : isDate && isWeekday);
  };
}

function allValues(part: string, field: CronField): number[] {
  const values = new Set<number>();
  for (const item of part.split(',')) {
    const [range, step] = item.split('/') as [string, string | undefined];
    const ends = range === '*' ? [field.min, field.max] : range.split('-').map((end) => valueOf(end, field)!);
    const from = ends[0]!;
    const to = ends[1] ?? (step === undefined ? from : field.max);
    for (let value = from; value <= to; value += Number(step ?? 1)) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}
