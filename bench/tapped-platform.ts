import type { RunningPlatform } from '@parley/testing/running-platform';
import { PostgresTap } from './postgres-tap';
import { openEmbedded, type Workbench } from './workbench';

export interface Tapped {
  platform: RunningPlatform;
  /** Records what the platform sends to Postgres. */
  tap: PostgresTap;
}

/** Runs the work on an embedded platform behind a tap, and stops the platform, so that a baseline can use its database. */
export async function onTappedPlatform<T>(
  bench: Workbench,
  databaseUrl: string,
  work: (tapped: Tapped) => Promise<T>,
  env: Record<string, string> = {},
): Promise<T> {
  const tap = bench.session.keep(await PostgresTap.start(databaseUrl));
  const platform = await openEmbedded(bench, { DATABASE_URL: tap.url, ...env });
  try {
    return await work({ platform, tap });
  } finally {
    await platform.stop();
  }
}
