import { waitFor } from '@parley/testing/wait-for';
import { LineTurns } from './line-turns';

let clockMs = 0;

/** Output with so many lines, each of which takes a millisecond. */
function printing(name: string, lines: number, printed: string[] = []) {
  const printNext = () => {
    lines -= 1;
    clockMs += 1;
    printed.push(name);
    return lines > 0;
  };
  return { printNext, left: () => lines };
}

beforeEach(() => {
  clockMs = 0;
  jest.spyOn(performance, 'now').mockImplementation(() => clockMs);
});

afterEach(() => jest.restoreAllMocks());

it('prints the line of a process before the second one of another', async () => {
  const turns = new LineTurns();
  const printed: string[] = [];
  turns.add(printing('many', 100, printed));
  turns.add(printing('one', 1, printed));

  await turns.finish();

  expect(printed.slice(0, 3)).toEqual(['many', 'one', 'many']);
  expect(printed).toHaveLength(101);
});

it('leaves four fifths of the time to others', async () => {
  const turns = new LineTurns();
  const pauses: number[] = [];
  const later = jest.spyOn(global, 'setTimeout');
  const many = printing('many', 17);
  turns.add(many);

  await waitFor(() => many.left() === 0);

  for (const [, ms] of later.mock.calls) if (ms === 20) pauses.push(ms);
  expect(pauses).toHaveLength(3);
});
