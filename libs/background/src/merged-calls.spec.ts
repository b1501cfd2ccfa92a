import { MergedCalls } from './merged-calls';

/** Calls whose runs the test ends. */
function held(maxTogether = 10) {
  const runs: { key: string; items: number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const calls = new MergedCalls<number, string>(
    (key, items) =>
      new Promise((resolve, reject) => {
        runs.push({ key, items, end: () => resolve(items.map((item) => `${key}${item}`)), fail: reject });
      }),
    maxTogether,
  );
  return { runs, calls };
}

const settled = () => new Promise(setImmediate);

it('runs the calls together that arrive while one of the same key runs', async () => {
  const { runs, calls } = held();

  const answers = [calls.call('a', 1), calls.call('a', 2), calls.call('a', 3), calls.call('b', 4)];
  expect(runs.map(({ key, items }) => [key, items])).toEqual([
    ['a', [1]],
    ['b', [4]],
  ]);
  runs.forEach(({ end }) => end());
  await settled();
  runs[2]!.end();

  await expect(Promise.all(answers)).resolves.toEqual(['a1', 'a2', 'a3', 'b4']);
  expect(runs[2]!.items).toEqual([2, 3]);
});

it('runs at most as many together as it may', async () => {
  const { runs, calls } = held(2);
  const answers = [1, 2, 3, 4].map((item) => calls.call('a', item));

  for (let run = 0; run < 3; run += 1) {
    runs[run]!.end();
    await settled();
  }

  expect(runs.map(({ items }) => items)).toEqual([[1], [2, 3], [4]]);
  await Promise.all(answers);
});

it('fails the calls of a run that fails, and no other', async () => {
  const { runs, calls } = held();
  const answers = Promise.allSettled([1, 2, 3].map((item) => calls.call('a', item)));

  runs[0]!.fail(new Error('broken'));
  await settled();
  runs[1]!.end();

  expect(await answers).toEqual([
    { status: 'rejected', reason: new Error('broken') },
    { status: 'fulfilled', value: 'a2' },
    { status: 'fulfilled', value: 'a3' },
  ]);
});

it('begins a new run for a key whose calls have ended', async () => {
  const { runs, calls } = held();
  const first = calls.call('a', 1);
  runs[0]!.end();
  await first;
  await settled();

  void calls.call('a', 2);

  expect(runs.map(({ items }) => items)).toEqual([[1], [2]]);
});
