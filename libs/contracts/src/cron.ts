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

/** Minute, hour, day of month, month and day of week, with a field of seconds before them or without one. */
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

/** A list of `*`, `3` or `3-7`, each of them with a step such as `/2` or without one. */
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
