import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

// Loaded into the measured process by `--require`. On each SIGUSR2 it appends the longest event loop block since the
// previous signal to the file LOOP_WATCH. The metric of prom-client is not used: it samples every 10 ms and cannot
// distinguish blocking code from a core that is busy with other processes.

/** Timer interval; costs about 1 % of a core. */
const intervalMs = 2;

export interface LoopBlock {
  /** Maximum delay of a timer. */
  blockedMs: number;
  /**
   * Maximum CPU time of the thread while a timer was due, which is code of this process. A longer block also waited for
   * a core, for garbage collector threads or for the disk. NaN where unknown.
   */
  computedMs: number;
}

if (isMainThread && process.env['LOOP_WATCH']) watch(process.env['LOOP_WATCH']);

function watch(file: string): void {
  let longest: LoopBlock = { blockedMs: 0, computedMs: 0 };
  let [then, computed] = [performance.now(), onCoreMs()];
  setInterval(() => {
    const [now, computedNow] = [performance.now(), onCoreMs()];
    longest = {
      blockedMs: Math.max(longest.blockedMs, now - then - intervalMs),
      computedMs: Math.max(longest.computedMs, computedNow - computed),
    };
    [then, computed] = [now, computedNow];
  }, intervalMs).unref();
  process.on('SIGUSR2', () => {
    appendFileSync(file, `${JSON.stringify(longest)}\n`);
    longest = { blockedMs: 0, computedMs: 0 };
  });
}

/** CPU time of the main thread: the first number of schedstat, in nanoseconds. */
function onCoreMs(): number {
  try {
    const [usedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(usedNs) / 1e6;
  } catch {
    // Only Linux has schedstat.
    return NaN;
  }
}
