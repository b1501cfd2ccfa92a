import { performance } from 'node:perf_hooks';
import { waitFor } from './wait-for';

/** Event loop that others keep busy, whose time passes only by the test. Undo with `jest.restoreAllMocks`. */
export function busyLoop(): { pass: (ms: number) => void; looked: () => Promise<unknown> } {
  let active = 0;
  let looks = 0;
  jest.spyOn(performance, 'eventLoopUtilization').mockImplementation(() => {
    looks += 1;
    return { active, idle: 0, utilization: 1 };
  });
  return {
    pass: (ms) => void (active += ms),
    /** Resolves when somebody has looked at the time again. */
    looked: () => {
      const before = looks;
      return waitFor(() => looks > before);
    },
  };
}
