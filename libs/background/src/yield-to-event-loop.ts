import { setImmediate } from 'node:timers/promises';

/**
 * Cooperative scheduling: resolves after the event loop has polled for I/O and run its callbacks. One immediate is not
 * enough: after a callback of I/O it runs before the next poll.
 */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
  await setImmediate();
}
