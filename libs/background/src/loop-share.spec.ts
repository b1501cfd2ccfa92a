import { LoopShare } from './loop-share';

const part = 0.05;
const options = { ofBusyLoop: part, idleTime: 1 };

/** Clock of a loop that others keep busy for this part of each millisecond. It moves only when somebody sleeps or works. */
function loopBusyBy(others: number, idleTime = 1) {
  const times = { active: 1_000, idle: 1_000 };
  const pass = (ms: number) => {
    times.active += ms * others;
    times.idle += ms * (1 - others);
  };
  const clock = { times: () => ({ ...times }), sleep: (ms: number) => Promise.resolve(pass(Math.max(1, ms))) };
  const share = new LoopShare({ ...options, idleTime }, clock);
  /** Works once, and returns the milliseconds of the pause after it. */
  const workFor = async (ms: number) => {
    const busyMs = share.begin();
    times.active += ms;
    const before = times.active + times.idle;
    await share.rest(busyMs());
    return times.active + times.idle - before;
  };
  return { workFor };
}

it('pauses for as long as the work took while nobody else needs the loop', async () => {
  const { workFor } = loopBusyBy(0);

  expect(await workFor(4)).toBeCloseTo(4);
});

it('pauses for less time on an idle loop if that is enough', async () => {
  const { workFor } = loopBusyBy(0, 0.5);

  expect(await workFor(4)).toBeCloseTo(2);
});

it('leaves the rest of a busy loop to others', async () => {
  const { workFor } = loopBusyBy(1);

  expect(await workFor(4)).toBeCloseTo(4 / part - 4);
});

it('pauses until the loop was idle for as long as the work took', async () => {
  const { workFor } = loopBusyBy(0.75);

  const pauseMs = await workFor(4);

  expect(pauseMs).toBeGreaterThanOrEqual(16);
  expect(pauseMs).toBeLessThan(4 / part - 4);
});

it('bounds the pause after work during which others kept the loop busy', async () => {
  const { workFor } = loopBusyBy(1);

  expect(await workFor(60_000)).toBe(await loopBusyBy(1).workFor(50));
});

it('does not pause after work without processor time', async () => {
  const { workFor } = loopBusyBy(1);

  expect(await workFor(0)).toBe(0);
});

it('measures the loop of this thread', async () => {
  const share = new LoopShare(options);
  const busyMs = share.begin();

  for (let n = 0; busyMs() === 0; n += 1) Math.sqrt(n);

  expect(busyMs()).toBeGreaterThan(0);
});
