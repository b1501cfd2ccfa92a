import { PassThrough } from 'node:stream';
import { ReadingPace } from './reading-pace';

let paces: ReadingPace[];
let resumed: number;

beforeEach(() => {
  jest.useFakeTimers();
  paces = [];
  resumed = 0;
});

afterEach(() => {
  for (const pace of paces) pace.close();
  jest.useRealTimers();
});

function newPace() {
  const stream = new PassThrough().resume();
  const pace = new ReadingPace([stream], () => (resumed += 1));
  paces.push(pace);
  return { pace, stream };
}

it('lets a process go on that takes little time', () => {
  const { pace, stream } = newPace();

  for (let window = 0; window < 10; window += 1) {
    pace.spend(1);
    pace.spend(1);
    jest.advanceTimersByTime(100);
  }

  expect([pace.isPaused, stream.isPaused()]).toEqual([false, false]);
});

it('pauses the streams of a process that takes more than its share for ten times as long', () => {
  const { pace, stream } = newPace();

  pace.spend(5);

  expect([pace.isPaused, stream.isPaused()]).toEqual([true, true]);
  jest.advanceTimersByTime(49);
  expect(stream.isPaused()).toBe(true);
  jest.advanceTimersByTime(1);
  expect([pace.isPaused, stream.isPaused(), resumed]).toEqual([false, false, 1]);
});

it('pauses each of several such processes for longer, so that they share one tenth', () => {
  const [first, second] = [newPace(), newPace()];
  first.pace.spend(5);

  second.pace.spend(5);

  jest.advanceTimersByTime(99);
  expect([first.pace.isPaused, second.pace.isPaused]).toEqual([false, true]);
  jest.advanceTimersByTime(1);
  expect(second.pace.isPaused).toBe(false);
});

it('forgets a process that ended while it was paused', () => {
  const ended = newPace();
  ended.pace.spend(5);
  ended.pace.close();
  const { pace } = newPace();

  pace.spend(5);

  jest.advanceTimersByTime(50);
  expect([pace.isPaused, resumed]).toEqual([false, 1]);
});
