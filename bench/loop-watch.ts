import { appendFileSync, readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

// Loaded into the measured process by `--require`. At each SIGUSR2 it adds a line to the file LOOP_WATCH: the longest
// blocks of the event loop since the signal before. It does not take prom-client's figure: that one looks every 10 ms, and
// cannot tell code that blocks from a core that is busy with somebody else.

/** Looking at the loop so often costs about 1 % of a core. */
const intervalMs = 2;

export interface LoopBlock {
  /** How late a timer was at most. */
  blockedMs: number;
  /**
   * How long the thread was on a core at most while a timer was due: that is code of this process. A longer block has
   * waited besides, for a core, for other threads of the garbage collector or for the disk. NaN where it is not known.
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

/** What the main thread has used of its cores until now: the first number of schedstat, in nanoseconds. */
function onCoreMs(): number {
  try {
    const [usedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(usedNs) / 1e6;
  } catch {
    // Not Linux.
    return NaN;
  }
}
