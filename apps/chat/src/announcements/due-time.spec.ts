import { dueTime } from './due-time';

const now = new Date('2026-01-31T12:00:00.000Z');

describe('the due time of a schedule', () => {
  it.each([
    ['dateTime', { dateTime: '2026-01-31T12:00:00.001Z' }, '2026-01-31T12:00:00.001Z'],
    ['dateTime in another zone', { dateTime: '2026-01-31T14:00:01.000+0100' }, '2026-01-31T13:00:01.000Z'],
    ['the same day a year later', { dateTime: '2027-02-01T12:00:00.000Z' }, '2027-02-01T12:00:00.000Z'],
    ['delay', { delay: 1500 }, '2026-01-31T12:00:01.500Z'],
    ['a delay with a fraction', { delay: 1.5 }, '2026-01-31T12:00:00.001Z'],
  ])('computes the due time given by %s', (_what, schedule, due) => {
    expect(dueTime(schedule, now)?.toISOString()).toBe(due);
  });

  it.each([
    ['nothing is scheduled', undefined],
    ['it is past', { dateTime: '2020-01-31T12:00:00.000Z' }],
    ['it is now', { dateTime: now.toISOString() }],
    ['there is no delay', { delay: 0 }],
  ])('returns no due time when %s', (_what, schedule) => {
    expect(dueTime(schedule, now)).toBeUndefined();
  });

  it.each([
    ['nothing', {}, 'schedule must have either dateTime or delay.'],
    ['both', { dateTime: now.toISOString(), delay: 1 }, 'schedule must have either dateTime or delay.'],
    ['an invalid time', { dateTime: '2026-02-30T99:00:00.000Z' }, expect.stringMatching(/^schedule.dateTime must be/)],
    ['more than a year', { dateTime: '2027-02-02T12:00:00.000Z' }, 'schedule must be at most a year ahead.'],
  ])('rejects a schedule with %s', (_what, schedule, message: string) => {
    expect(() => dueTime(schedule, now)).toThrow(expect.objectContaining({ type: 'InvalidPayload', message }) as Error);
  });
});
