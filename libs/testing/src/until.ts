import { setTimeout as sleep } from 'node:timers/promises';

/** Asks again until the answer is as wanted: true, unless said otherwise. Throws with the last answer after the timeout. */
export async function until<T>(
  ask: () => Promise<T> | T,
  isWanted: (answer: T) => boolean = Boolean,
  timeoutMs = 25_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`Not as wanted after ${timeoutMs} ms: ${JSON.stringify(answer)}`);
    await sleep(20);
  }
}
