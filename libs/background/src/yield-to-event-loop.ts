import { setImmediate } from 'node:timers/promises';

const holdEventLoopMs = 4;

/**
 * Cooperative scheduling: resolves after the event loop has polled for I/O and run its callbacks. One immediate is not
 * enough: after a callback of I/O it runs before the next poll.
 */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** Yields to the event loop every 4 ms, however often it is called. */
export function eventLoopPauses(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since <= holdEventLoopMs) return;
    await yieldToEventLoop();
    since = performance.now();
  };
}
