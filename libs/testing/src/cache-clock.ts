/** Clock of caches whose entries end, which moves only by the test. Undo with `jest.restoreAllMocks`. */
export function cacheClock(): { pass: (ms: number) => void } {
  let now = Math.ceil(performance.now());
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  return { pass: (ms) => void (now += ms) };
}
