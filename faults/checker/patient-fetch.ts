import { setTimeout as sleep } from 'node:timers/promises';

const mostRefusals = 30;

/**
 * Asks again while it is told to come again, half a minute at least: after harm, or on a machine that stands still, whoever
 * waits for the database is. What stays refused is answered so.
 */
export async function patientFetch(url: string, init?: RequestInit): Promise<Response> {
  for (let refusals = 0; ; refusals += 1) {
    const response = await fetch(url, init);
    const retryAfter = response.headers.get('retry-after');
    if (response.status !== 503 || retryAfter === null || refusals === mostRefusals) return response;
    await response.arrayBuffer();
    await sleep(1000 * Number(retryAfter));
  }
}
