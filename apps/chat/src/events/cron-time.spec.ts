import { RecurringEventDefinition } from '@parley/contracts/definition';
import { problemsOf, toInstance } from '@parley/contracts/fields';
import fc from 'fast-check';
import { nextTime, nextTimeAfter } from './cron-time';

const saturday = new Date('2026-01-31T10:00:30.500Z');

it.each([
  ['* * * * *', '2026-01-31T10:01:00.000Z'],
  ['* * * * * *', '2026-01-31T10:00:31.000Z'],
  ['30 0 12 * * *', '2026-01-31T12:00:30.000Z'],
  ['0 9 * JAN-mar MON', '2026-02-02T09:00:00.000Z'],
  ['0 0 * * 7', '2026-02-01T00:00:00.000Z'],
  ['0 0 13 * FRI', '2026-02-06T00:00:00.000Z'],
  [' 0  0 1 1 * ', '2027-01-01T00:00:00.000Z'],
  ['0 0 29 2 *', '2028-02-29T00:00:00.000Z'],
  ['5/15 * * * *', '2026-01-31T10:05:00.000Z'],
  ['40/15 * * * *', '2026-01-31T10:40:00.000Z'],
  ['*/99 * * * *', '2026-01-31T11:00:00.000Z'],
  ['0 0 * * 7/2', '2026-02-01T00:00:00.000Z'],
  ['0 0 0 */32 */13 */8', '2027-01-01T00:00:00.000Z'],
])('computes the next time of "%s" as %s', (cron, expected) => {
  expect(nextTime(cron, saturday)?.toISOString()).toBe(expected);
});

it('returns no next time for a date that exists in no year', () => {
  expect(nextTime('0 0 30 2 *', saturday)).toBeNull();
});

it('returns a next time later than the given time, even if that time matches', () => {
  expect(nextTime('* * * * *', new Date('2026-01-31T10:01:00.000Z'))?.toISOString()).toBe('2026-01-31T10:02:00.000Z');
});

it.each([
  ['exactly the least time after the last one', 60, '2026-01-31T10:01:00.000Z', 59.5],
  ['the first that is the least time after the last one', 61, '2026-01-31T10:02:00.000Z', 119.5],
  ['no earlier than now', 0, '2026-01-31T10:01:00.000Z', 59.5],
])('returns as the next time of an event that recurred %s', (_what, minSeconds, next, seconds) => {
  const dueAt = new Date('2026-01-31T10:00:00.000Z');

  expect(nextTimeAfter('* * * * *', new Date(+dueAt + 500), { dueAt, minSeconds })).toEqual({
    next_at: new Date(next),
    period_seconds: Math.ceil(seconds),
  });
});

it('returns a next time for every expression that the contract accepts', () => {
  const number = fc.integer({ min: 0, max: 59 }).map(String);
  const range = fc.oneof(
    fc.constantFrom('*', 'JAN', 'dec', 'SUN', 'sat', 'MON-FRI', 'FEB-NOV'),
    number,
    fc.tuple(number, number).map((ends) => ends.join('-')),
  );
  const step = fc.integer({ min: 1, max: 99 }).map((by) => `/${by}`);
  const item = fc.tuple(range, fc.oneof(fc.constant(''), step)).map((parts) => parts.join(''));
  const field = fc.array(item, { minLength: 1, maxLength: 2 }).map((items) => items.join(','));
  const isTaken = (cron: string) =>
    problemsOf(toInstance(RecurringEventDefinition, { type: 'tick', payload: {}, schedule: { cron } }) as object)
      .length === 0;

  const fieldCases: [number, string[]][] = [
    [0, ['*', '*', '*', '*', '*']],
    [0, ['*', '*', '*', '*']],
    [1, ['0', '*', '*', '*']],
    [2, ['0', '0', '*', '*']],
    [3, ['0', '0', '1', '*']],
    [4, ['0', '0', '*', '*']],
  ];
  for (const [position, others] of fieldCases) {
    const expression = field.map((made) => others.toSpliced(position, 0, made).join(' ')).filter(isTaken);
    fc.assert(
      fc.property(expression, (cron) => expect(nextTime(cron, saturday)?.getTime()).toBeGreaterThan(+saturday)),
      { numRuns: 200 },
    );
  }
});
