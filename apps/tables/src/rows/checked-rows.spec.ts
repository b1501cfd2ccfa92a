import { checkRows } from './checked-rows';
import { Remarks } from './remarks';

it('lets others have the event loop while many rows are checked', async () => {
  const slowly = () => {
    for (const end = performance.now() + 10; performance.now() < end;);
    return 'it is none';
  };
  let turnsOfOthers = 0;
  const others = setInterval(() => turnsOfOthers++, 1);

  await checkRows(Array<object>(50).fill({}) as Record<string, unknown>[], slowly, new Remarks());

  clearInterval(others);
  expect(turnsOfOthers).toBeGreaterThan(5);
});
