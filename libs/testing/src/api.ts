import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@botpress/client';
import type { RunningPlatform } from './running-platform';

/** The public client, unmodified, as the platform's first account and, where given, on a bot. */
export function clientOf(
  { url, token, workspaceId }: Pick<RunningPlatform, 'url' | 'token' | 'workspaceId'>,
  botId?: string,
): Client {
  return new Client({ apiUrl: url, token, workspaceId, botId });
}

/** Asks again until the answer is as wanted. Throws with the last answer when that takes too long. */
export async function eventually<T>(
  ask: () => Promise<T>,
  isWanted: (answer: T) => boolean,
  timeoutMs = 20_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const answer = await ask();
    if (isWanted(answer)) return answer;
    if (Date.now() > deadline) throw new Error(`Not as wanted after ${timeoutMs} ms: ${JSON.stringify(answer)}`);
    await sleep(100);
  }
}

/** Runs one `parley` command against a running platform. */
export function parley(platform: Pick<RunningPlatform, 'url' | 'secretKey'>, ...args: string[]) {
  const { status, stdout } = spawnSync(process.execPath, ['dist/apps/cli/src/main.js', ...args], {
    env: { PATH: process.env['PATH'], PARLEY_URL: platform.url, PARLEY_SECRET_KEY: platform.secretKey },
    encoding: 'utf8',
  });
  return { status, stdout };
}
