import { setTimeout as sleep } from 'node:timers/promises';

/** Polls until the result passes the check, by default until it is true. Throws with the last result after the timeout. */
export async function waitFor<T>(
  ask: () => Promise<T> | T,
  isWanted: (answer: T) => boolean = Boolean,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    if (Date.now() > deadline)
      throw new Error(`Condition not met after ${timeoutMs} ms. Last result: ${JSON.stringify(answer)}`);
    await sleep(20);
  }
}
