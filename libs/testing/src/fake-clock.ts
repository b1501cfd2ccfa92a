const clocks = [
  ...(['Date', 'performance', 'hrtime', 'nextTick', 'queueMicrotask', 'setImmediate', 'clearImmediate'] as const),
  ...(['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] as const),
];
type Clock = (typeof clocks)[number];

let isFaked = false;

/**
 * These clocks and timers stand still until the test moves them by `jest.advanceTimersByTime`. All others go on, so that
 * Postgres and the network answer. Ends with `realClock`.
 */
export function fakeClock(...names: Clock[]): void {
  isFaked = true;
  jest.useFakeTimers({ doNotFake: clocks.filter((name) => !names.includes(name)) });
}

/** The real clocks again. All that waits for a timer goes on at once, loops in the background with it. Idempotent. */
export function realClock(): void {
  if (!isFaked) return;
  isFaked = false;
  jest.runOnlyPendingTimers();
  jest.useRealTimers();
}
