import { checkRows } from './checked-rows';
import { RowProblems } from './row-problems';

it('yields to the event loop while it checks many rows', async () => {
  let now = performance.now();
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now);
  const slowly = () => {
    now += 10;
    return 'it is none';
  };
  // Two turns for each yield.
  let turnsOfOthers = 0;
  const count = () => {
    turnsOfOthers++;
    others = setImmediate(count);
  };
  let others = setImmediate(count);

  await checkRows(Array<object>(50).fill({}) as Record<string, unknown>[], slowly, new RowProblems());

  clearImmediate(others);
  clock.mockRestore();
  expect(turnsOfOthers).toBe(100);
});
