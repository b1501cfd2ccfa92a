import { cronPattern } from './cron';
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
  ])('accepts the cron expression "%s"', (cron) => {
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
  ])('rejects the cron expression %j', (cron) => {
    expect(problems(cron)).toEqual([expect.stringMatching(/^schedule\.cron must be a cron expression of five fields/)]);
  });
});

describe('the pattern of a cron expression', () => {
  it.each([
    ['* * * * * *', 1, 366 * 86_400],
    ['*/30 * * * * *', 30, 366 * 2_880],
    ['0,59 * * * * *', 1, 366 * 2_880],
    ['7 * * * * *', 60, 366 * 1_440],
    ['* * * * *', 60, 366 * 1_440],
    ['*/7 * * * *', 240, 366 * 24 * 9],
    ['40/15 * * * *', 900, 366 * 24 * 2],
    ['*/99 * * * *', 3_600, 366 * 24],
    ['0 0,23 * * *', 3_600, 366 * 2],
    ['0 0,23 1 * *', 82_800, 24],
    ['0,30 0 0 1 1 *', 30, 2],
    ['0 9 * * 1-5', 86_400, 260],
    ['0 9 * * 7', Infinity, 53],
    ['0 0 13 * FRI', 86_400, 63],
    ['0 0 31 12 *', Infinity, 1],
    ['0 0 1 JAN,dec *', Infinity, 2],
    ['0 0 31,1 12,1 *', 86_400, 4],
    ['0 0 29 2 *', Infinity, 1],
    ['0 0 30 2 *', Infinity, 0],
  ])('computes for %s a shortest gap of %d s and %d occurrences a year', (cron, shortestGapSeconds, timesPerYear) => {
    expect(cronPattern(cron)).toEqual({ shortestGapSeconds, timesPerYear });
  });
});
