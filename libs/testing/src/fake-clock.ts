const clocks = [
  ...(['Date', 'performance', 'hrtime', 'nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const),
];
type Clock = (typeof clocks)[number];

let isFaked = false;

/**
 * Fakes these clocks and timers: they stand still until `jest.advanceTimersByTime`. All others stay real, so that
 * Postgres and the network work. Undo with `realClock`.
 */
export function fakeClock(...names: Clock[]): void {
  isFaked = true;
  jest.useFakeTimers({ doNotFake: clocks.filter((name) => !names.includes(name)) });
}

/** Restores the real clocks. Runs all pending timers at once, including those of background loops. Idempotent. */
export function realClock(): void {
  if (!isFaked) return;
  isFaked = false;
  jest.runOnlyPendingTimers();
  jest.useRealTimers();
}
