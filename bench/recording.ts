import { clientOf } from '@parley/testing/api';
import { startEmbedded } from '@parley/testing/running-platform';
import { createEmptyDatabase } from '@parley/testing/test-database';
import type { Recording } from './bare-sql';
import { PostgresTap } from './postgres-tap';
import type { Session } from './session';

export function fileInput(key: string) {
  return { key, size: 2048, contentType: 'text/markdown', tags: { source: 'bench', language: 'en' } };
}

/**
 * Sends each operation once to the product and records its SQL, so that the baselines run exactly what the product of
 * this commit runs.
 */
export async function record(session: Session): Promise<Record<'read' | 'write', Recording>> {
  const database = await createEmptyDatabase();
  session.keep({ stop: () => database.drop() });
  const tap = session.keep(await PostgresTap.start(database.url));
  // A long interval for the sweeper: it works on the same files, and its SQL would be recorded as part of the request.
  const platform = await startEmbedded({ env: { DATABASE_URL: tap.url, SWEEP_INTERVAL_MS: '600000' } });
  try {
    const { bot } = await clientOf(platform).createBot({});
    const client = clientOf(platform, bot.id);
    const key = 'bench-recording.md';
    tap.clear();
    const written = await client.upsertFile(fileInput(key));
    const write = { units: tap.unitsWith(key), given: key, answer: written };
    tap.clear();
    const { id } = written.file;
    const found = await client.getFile({ id });
    const read = { units: tap.unitsWith(id), given: id, answer: found };
    if (read.units.length === 0 || write.units.length === 0)
      throw new Error('The Postgres tap recorded no statements for the requests.');
    return { read, write };
  } finally {
    await platform.stop();
  }
}
