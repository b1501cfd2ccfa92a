import type { Result } from './result';
import { formatted, printed } from './table';

const result: Result = {
  title: 'A cheap read',
  rows: [
    { name: 'product', figures: { 'request/s': 2513.2, 'p50 ms': 6.125 }, cpu: { per: 'request', us: { app: 312.4 } } },
    { name: 'bare', figures: { 'request/s': 4310, 'p50 ms': 3 } },
  ],
  aims: [
    { name: 'product / bare', value: 0.583, spread: [0.55, 0.6], atLeast: 0.6 },
    { name: 'start', value: 1.5, unit: ' s', below: 3 },
  ],
  notes: ['Of a quiet machine.'],
  errors: ['bare: 3 requests failed'],
  rounds: {},
};

it('prints absolute figures beside each other, processor time below, and whether an aim is met', () => {
  expect(printed(result).split('\n')).toEqual([
    'A cheap read',
    '',
    '           request/s  p50 ms',
    '  product      2,513    6.13',
    '      processor time in µs a request: app 312',
    '  bare         4,310    3.00',
    '',
    '  product / bare  0.583 (0.550 to 0.600)  aim: at least 0.6: MISSED',
    '  start  1.50 s  aim: below 3 s: met',
    '  Of a quiet machine.',
    '  ERROR  bare: 3 requests failed',
    '',
  ]);
});

it('says that processor time is not known where it is not', () => {
  const [row] = result.rows;

  const text = printed({ ...result, rows: [{ ...row!, cpu: { per: 'request', us: {} } }] });

  expect(text).toContain('processor time in µs a request: not available on this platform');
});

it('writes three significant digits', () => {
  expect([0.0123, 0.5, 12.34, 123.4, 12345.6, 0, NaN, undefined].map(formatted)).toEqual([
    '0.0123',
    '0.500',
    '12.3',
    '123',
    '12,346',
    '0.0000',
    '–',
    '–',
  ]);
});
