import { clientOf } from '@parley/testing/api';
import type { RunningPlatform } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';
import type { Pool } from 'pg';
import { openPool } from './bare-sql';
import type { Conversations } from './conversations';
import { poolSize, type Workbench } from './workbench';

/** Sets url or code and waits until chat has heard of it. */
export async function deploy(
  platform: RunningPlatform,
  pool: Pool,
  { botId }: Pick<Conversations, 'botId'>,
  target: { url: string } | { code: string },
): Promise<void> {
  await clientOf(platform).updateBot({ id: botId, ...target });
  await waitFor(async () => {
    const { rows } = await pool.query('SELECT FROM called_bot WHERE bot_id = $1 AND is_called', [botId]);
    return rows.length > 0;
  });
}

export function keptPool({ session }: Workbench, databaseUrl: string): Pool {
  const pool = openPool({ databaseUrl, poolSize }, 'chat');
  // Databases are dropped with their connections.
  pool.on('error', () => undefined);
  session.keep({ stop: () => pool.end() });
  return pool;
}
