import { clientOf } from '@parley/testing/api';
import { put } from '@parley/testing/bot-files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { NpmStart } from '@parley/testing/npm-start';
import { waitFor } from '@parley/testing/wait-for';
import { Client as Postgres } from 'pg';
import { Checker } from './checker/checker';
import { document, Ledger } from './checker/ledger';
import { Load } from './load';
import type { LoadTarget } from './recorded-requests';
import { RawClient, rawRequest } from './raw-client';

let embeddings: EmbeddingServer;
let platform: NpmStart;

beforeEach(async () => {
  embeddings = await EmbeddingServer.start();
  platform = await NpmStart.create({ EMBEDDINGS_URL: embeddings.url, SWEEP_INTERVAL_MS: '500' });
});

afterEach(async () => {
  await platform?.remove();
  await embeddings?.stop();
});

it('keeps and finishes every acknowledged upload after SIGKILLs during uploads and indexing', async () => {
  // Matches every text of the load. Slow enough that some file is always being indexed.
  embeddings.order('ships', { delayMs: 200 });
  await platform.start();
  const target = await platform.credentials();
  const { bot } = await clientOf(target).createBot({});
  const ledger = new Ledger();
  ledger.bot(bot.id);
  const load = new Load(target, ledger, bot.id, { requestsPerSecond: 60, indexEvery: 1 });
  await load.start();

  const again: (() => Promise<void>)[] = [];
  for (const what of ['node', 'everything', 'everything'] as const) {
    const moment = load.answered + 20 + Math.floor(Math.random() * 100);
    process.stderr.write(`${what} is killed after ${moment} requests.\n`);
    again.push(await startUpload(target, ledger, bot.id, `half${moment}`));
    await waitFor(
      () => load.answered,
      (count) => count >= moment,
    );
    await platform.kill(what);
    await platform.start();
  }
  for (const upload of again) await upload();
  await waitFor(() => ledger.files.length > 20);
  const { failures } = await load.stop();
  const examined = { ...target, databaseUrl: await platform.databaseUrl(), blobsDir: platform.blobsDir };
  await letTimePass(examined.databaseUrl);

  // Expected failures during a restart: broken connections and 503.
  expect(failures.filter(({ kind, outcome }) => kind === 'answered' && !outcome.startsWith('503 '))).toEqual([]);
  expect(await new Checker(examined, ledger).findings(60_000)).toEqual([]);
  await waitFor(
    () => undelivered(examined.databaseUrl),
    (events) => events.length === 0,
  );
});

/** Sends half of an upload, for the kill to interrupt; the result sends all of it to the same URL. */
async function startUpload(target: LoadTarget, ledger: Ledger, botId: string, name: string) {
  const { text, content } = document(name, 100);
  const declaration = { key: `${name}.txt`, size: text.length, index: true };
  const { id, uploadUrl } = (await clientOf(target, botId).upsertFile(declaration)).file;
  const file = ledger.declared({ botId, id, index: true });
  const client = await RawClient.connect(uploadUrl);
  client.send(rawRequest('PUT', uploadUrl, { 'content-length': text.length }, text.slice(0, text.length / 2)));
  return async () => {
    const acknowledge = ledger.attempt(file, content);
    const { status } = await put(uploadUrl, text);
    if (status === 200) acknowledge();
    else throw new Error(`The upload was answered ${status}.`);
  };
}

/** Makes uploads and cleanup of a killed process due at once, which sweepers leave for up to ten minutes. */
async function letTimePass(databaseUrl: string): Promise<void> {
  await query(
    databaseUrl,
    `UPDATE files.upload SET touched_at = touched_at - interval '10 minutes';
     UPDATE files.work SET due_at = due_at - interval '10 minutes' WHERE state = 'waiting'`,
  );
}

function undelivered(databaseUrl: string): Promise<unknown[]> {
  return query(databaseUrl, 'SELECT queue, key, last_error FROM events.work');
}

async function query(databaseUrl: string, text: string): Promise<unknown[]> {
  const database = new Postgres({ connectionString: databaseUrl });
  await database.connect();
  try {
    return (await database.query<Record<string, unknown>>(text)).rows;
  } finally {
    await database.end();
  }
}
