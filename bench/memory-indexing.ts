import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { startDistributed } from '@parley/testing/running-platform';
import { markdown } from './corpus';
import { peaks, residentMb } from './memory';
import type { Result, Row } from './result';
import { newLogFile, openBot, productEnv, type Workbench } from './workbench';

const megabytes = 90;
const pollMs = 250;
/** Time limit with the bundled model, which would take hours for the whole text. */
const secondsWithModel = 60;

/**
 * Memory of the worker while it indexes one large text: completely with an embedding server, for 60 s with the bundled
 * model.
 */
export async function benchIndexingMemory(bench: Workbench): Promise<Result[]> {
  const server = bench.session.keep(await EmbeddingServer.start());
  const rows = [
    await indexLarge(bench, 'embedding server, to the end', { EMBEDDINGS_URL: server.url }, Infinity),
    await indexLarge(bench, `bundled model, ${secondsWithModel} s`, {}, secondsWithModel),
  ];
  return [
    {
      title: `Distributed mode: memory of the process that indexes a text of ${megabytes} MB`,
      rows,
      aims: rows.map(({ name, figures }) => ({
        name: `peak memory, ${name}`,
        value: figures['peak MB']!,
        unit: ' MB',
        below: 600,
      })),
      notes: ['Resident memory of the files worker, its threads included.'],
      errors: [],
      rounds: {},
    },
  ];
}

async function indexLarge(bench: Workbench, name: string, env: Record<string, string>, seconds: number): Promise<Row> {
  const { session } = bench;
  const options = { env: { ...productEnv(bench), ...env }, logFile: newLogFile(bench) };
  const platform = session.keep(await startDistributed(options));
  const { client } = await openBot(platform);
  const ended = async (id: string, deadline: number) => {
    while (performance.now() < deadline) {
      session.checkpoint();
      const { status, failedStatusReason } = (await client.getFile({ id })).file;
      if (status === 'indexing_failed') throw new Error(`The text was not indexed: ${failedStatusReason}`);
      if (status === 'indexing_completed') return;
      await sleep(pollMs);
    }
  };
  const upload = (key: string, content: Buffer) => client.uploadFile({ key, content, index: true });
  const warmUp = await upload('warm-up.txt', Buffer.from('The first use of the model loads it.'));
  await ended(warmUp.file.id, Infinity);

  const memory = () => [residentMb(platform.pids['files-worker']!)];
  const [idleMb] = memory();
  const { file } = await upload('large.txt', Buffer.alloc(megabytes * 1e6, markdown(1e6)));
  const started = performance.now();
  const [peakMb] = await peaks(memory, () => ended(file.id, started + 1000 * seconds));
  const took = (performance.now() - started) / 1000;
  await platform.stop();
  return { name, figures: { 'idle MB': idleMb!, 'peak MB': peakMb!, 'took s': took } };
}
