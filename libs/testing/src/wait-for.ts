import { setTimeout as sleep } from 'node:timers/promises';

const [minPauseMs, maxPauseMs] = [20, 100];

/** Polls until the result passes the check, by default until it is true. Throws with the last result after the timeout. */
export async function waitFor<T>(
  ask: () => Promise<T> | T,
  isWanted: (answer: T) => boolean = Boolean,
  timeoutMs = 60_000,
): Promise<T> {
  const started = Date.now();
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    const waitedMs = Date.now() - started;
    if (waitedMs > timeoutMs)
      throw new Error(`Condition not met after ${timeoutMs} ms. Last result: ${JSON.stringify(answer)}`);
    // Rarer polls in longer waits leave the processor to the awaited work.
    await sleep(Math.min(Math.max(minPauseMs, waitedMs / 20), maxPauseMs));
  }
}
