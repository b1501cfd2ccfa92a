import { readOptions } from './options';

const now = new Date('2026-01-02T03:04:05Z');

it('measures everything in five rounds of four seconds unless it is told otherwise', () => {
  expect(readOptions([], now)).toEqual({
    only: [
      'read',
      'write',
      'upload',
      'parsing',
      'indexing',
      'loop',
      'memory',
      'start',
      'bot',
      'hub',
      'tables',
      'import',
      'chat',
      'listen',
      'retrieval',
      'search',
      'recovery',
      'scale',
      'fairness',
    ],
    seconds: 4,
    rounds: 5,
    connections: 16,
    heldOut: false,
    profile: undefined,
    out: 'bench/results/2026-01-02T030405.json',
  });
});

it('takes what is asked for before what is quick', () => {
  const options = readOptions(['--quick', '--rounds', '3', '--only', 'write, read', '--out', 'here.json'], now);

  expect(options).toMatchObject({ only: ['read', 'write'], seconds: 1, rounds: 3, out: 'here.json' });
});

it.each([
  [['--only', 'read,sing'], 'and not sing'],
  [['--rounds', 'many'], '--rounds must be a number'],
  [['--seconds', '0'], '--seconds must be a number'],
  [['--loud'], '--loud'],
])('refuses %j', (args, reason) => {
  expect(() => readOptions(args, now)).toThrow(reason);
});
