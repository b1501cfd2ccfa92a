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
  /** The same without the time in which the thread was ready to run and had no core. NaN where the kernel does not say. */
  ownMs: number;
}

if (isMainThread && process.env['LOOP_WATCH']) watch(process.env['LOOP_WATCH']);

function watch(file: string): void {
  let longest: LoopBlock = { blockedMs: 0, ownMs: 0 };
  let [then, waited] = [performance.now(), waitedMs()];
  setInterval(() => {
    const [now, waitedNow] = [performance.now(), waitedMs()];
    const blockedMs = now - then - intervalMs;
    const ownMs = Math.max(0, blockedMs - (waitedNow - waited));
    longest = { blockedMs: Math.max(longest.blockedMs, blockedMs), ownMs: Math.max(longest.ownMs, ownMs) };
    [then, waited] = [now, waitedNow];
  }, intervalMs).unref();
  process.on('SIGUSR2', () => {
    appendFileSync(file, `${JSON.stringify(longest)}\n`);
    longest = { blockedMs: 0, ownMs: 0 };
  });
}

/** The second number of schedstat: nanoseconds that the main thread has waited for a core. */
function waitedMs(): number {
  try {
    const [, waitedNs] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ');
    return Number(waitedNs) / 1e6;
  } catch {
    // Not Linux.
    return NaN;
  }
}
