import { PerformanceObserver } from 'node:perf_hooks';
import { ownThreadMs } from '@parley/child-processes/runnable-time';

interface Interval {
  start: number;
  end: number;
}

/** Shorter turns are not recorded. */
const notableMs = 4;

const tries = 4;

/**
 * Processor time of this thread in the longest turn of the event loop while the work is done, in milliseconds. Collections of the
 * heap do not count. A busy machine, and the start of a process by a large one, lengthen a turn: work that reaches the limit is
 * done again, up to four times, and its shortest result counts.
 */
export async function longestTurnMs(work: () => Promise<unknown>, limitMs: number): Promise<number> {
  let shortestMs = Infinity;
  for (let count = 0; count < tries && shortestMs >= limitMs; count += 1)
    shortestMs = Math.min(shortestMs, await longestTurnOf(work));
  return shortestMs;
}

/** Linux counts in ticks of up to 4 ms. */
async function longestTurnOf(work: () => Promise<unknown>): Promise<number> {
  const turns: (Interval & { usedMs: number })[] = [];
  const collections: Interval[] = [];
  const observer = new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries())
      collections.push({ start: startTime, end: startTime + duration });
  });
  observer.observe({ entryTypes: ['gc'] });
  let isOver = false;
  let [start, used] = [performance.now(), processorMs()];
  const next = () => {
    const [end, usedNow] = [performance.now(), processorMs()];
    if (usedNow - used > notableMs) turns.push({ start, end, usedMs: usedNow - used });
    [start, used] = [end, usedNow];
    // Not an immediate, which would leave the processor to nobody else.
    if (!isOver) setTimeout(next);
  };
  setTimeout(next);
  try {
    await work();
  } finally {
    isOver = true;
    // The observer gets its entries in a later turn.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    observer.disconnect();
  }
  const netMs = turns.map(({ usedMs, ...turn }) => {
    const collectedMs = collections.reduce((sum, collection) => sum + overlapMs(turn, collection), 0);
    return usedMs - collectedMs;
  });
  return Math.max(0, ...netMs);
}

function overlapMs(one: Interval, other: Interval): number {
  return Math.max(0, Math.min(one.end, other.end) - Math.max(one.start, other.start));
}

/** Processor time of this thread, or of the process on systems that do not tell it. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return ownThreadMs() ?? (user + system) / 1_000;
}
