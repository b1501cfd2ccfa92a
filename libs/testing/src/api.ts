import { spawnSync } from 'node:child_process';
import { Client } from '@botpress/client';
import { baseEnvironment, type RunningPlatform } from './running-platform';

/** Unmodified public client with the first account of the platform and, where given, a bot. */
export function clientOf(
  { url, token, workspaceId }: Pick<RunningPlatform, 'url' | 'token' | 'workspaceId'>,
  botId?: string,
): Client {
  return new Client({ apiUrl: url, token, workspaceId, botId });
}

export function parley(platform: Pick<RunningPlatform, 'url' | 'secretKey'>, ...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dist/apps/cli/src/main.js', ...args], {
    env: { ...baseEnvironment(), PARLEY_URL: platform.url, PARLEY_SECRET_KEY: platform.secretKey },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}
