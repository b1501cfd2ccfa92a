import { RecurringEventDefinition } from './definition';
import { problemsOf, toInstance } from './fields';

function problems(cron: unknown): string[] {
  return problemsOf(toInstance(RecurringEventDefinition, { type: 'tick', payload: {}, schedule: { cron } }) as object);
}

describe('a cron expression', () => {
  it.each([
    '* * * * *',
    '*/5 0-12/2 1,15 * 1-5',
    '0 9 * JAN-mar MON',
    '59 23 31 12 7',
    '30 0 12 * * *',
    ' 0  0 1 1 0 ',
    '5/15 * * * *',
  ])('may be "%s"', (cron) => {
    expect(problems(cron)).toEqual([]);
  });

  it.each([
    '',
    'every day',
    '* * * *',
    '* * * * * * *',
    '60 * * * *',
    '* 24 * * *',
    '* * 0 * *',
    '* * * 13 *',
    '* * * * 8',
    '*/0 * * * *',
    '1-2-3 * * * *',
    '5-1 * * * *',
    '1, * * * *',
    '- * * * *',
    '*/2/3 * * * *',
    'MON * * * *',
    '-1 * * * *',
  ])('is not %j', (cron) => {
    expect(problems(cron)).toEqual([expect.stringMatching(/^schedule\.cron must be a cron expression of five fields/)]);
  });
});
