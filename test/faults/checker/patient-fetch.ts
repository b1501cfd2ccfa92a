import { setTimeout as sleep } from 'node:timers/promises';

const mostRefusals = 30;

/**
 * Retries 503 for half a minute at least: requests that wait for the database get it after a fault. Returns the last
 * answer.
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
