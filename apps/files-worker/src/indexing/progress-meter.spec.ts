import { ProgressMeter } from './progress-meter';

/** Meter with a clock that the test moves. */
function setUp() {
  const clock = { seconds: 0 };
  const meter = new ProgressMeter(() => clock.seconds * 1000);
  return { clock, meter };
}

it('estimates the rest from the measured speed, and nothing before there is one', () => {
  const { clock, meter } = setUp();
  expect(meter.secondsLeft).toBeUndefined();
  meter.index(0);
  clock.seconds = 5;
  expect(meter.secondsLeft).toBeUndefined();

  meter.index(0.25);

  expect(meter.secondsLeft).toBe(15);
});

it('estimates more while nothing moves, and nothing at the end', () => {
  const { clock, meter } = setUp();
  meter.index(0);
  clock.seconds = 10;
  meter.index(0.5);
  clock.seconds = 20;
  expect(meter.secondsLeft).toBe(20);

  meter.index(1);

  expect(meter.secondsLeft).toBeUndefined();
});

it('follows a speed that changes, by that of the last minute', () => {
  const { clock, meter } = setUp();
  meter.index(0);
  for (let second = 1; second <= 60; second++) {
    clock.seconds = second;
    meter.index(second * 0.01);
  }
  for (let second = 61; second <= 150; second++) {
    clock.seconds = second;
    meter.index(0.6 + (second - 60) * 0.001);
  }

  expect(meter.part).toBeCloseTo(0.69);
  expect(meter.secondsLeft).toBe(311);
});

it('counts reading as a share of the whole, and estimates the rest of each stage by its own speed', () => {
  const { clock, meter } = setUp();
  meter.read(0);
  clock.seconds = 10;
  meter.read(0.5);
  const whileReading = [meter.part, meter.secondsLeft];
  meter.read(1);
  meter.index(0);
  const atFirst = [meter.part, meter.secondsLeft];
  clock.seconds = 11;

  meter.index(0.5);

  expect(whileReading).toEqual([0.15, 10]);
  expect(atFirst).toEqual([0.3, undefined]);
  expect(meter.part).toBeCloseTo(0.65);
  expect(meter.secondsLeft).toBe(1);
});

it('keeps what is reached when a second reader begins again, and measures anew', () => {
  const { clock, meter } = setUp();
  meter.index(0);
  clock.seconds = 1;
  meter.index(0.8);

  meter.read(0.5);
  meter.index(0);
  expect([meter.part, meter.secondsLeft]).toEqual([0.8, undefined]);
  clock.seconds = 2;
  meter.index(0.1);

  expect([meter.part, meter.secondsLeft]).toEqual([0.8, 9]);
});
