import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { markdown } from './corpus';
import type { Result } from './result';
import { type Round, type Side, compareSpeed, alternate, timed, toRow } from './rounds';
import type { Session } from './session';
import { openBare, openBot, openEmbedded, type Workbench } from './workbench';

const charactersPerSecond = 60_000;
const pollMs = 50;

type Bot = Awaited<ReturnType<typeof openBot>>;
interface Candidate extends Side {
  index(): Promise<unknown>;
}

async function recordTexts(bench: Workbench, document: string): Promise<string[]> {
  const server = bench.session.keep(await EmbeddingServer.start());
  const platform = await openEmbedded(bench, { EMBEDDINGS_URL: server.url });
  const bot = await openBot(platform);
  await indexFile(bench.session, bot, 'warm-up.md', 'The first use of the model asks for its dimensions.');
  server.requests.length = 0;
  await indexFile(bench.session, bot, 'document.md', document);
  await platform.stop();
  return server.requests.flat();
}

/**
 * Throughput of indexing in embedded mode (chunks per second) compared to the model alone with the same number of
 * threads.
 */
export async function benchIndexing(bench: Workbench, threads: number): Promise<Result[]> {
  const { session, options } = bench;
  const document = markdown(charactersPerSecond * threads * options.seconds);
  const texts = await recordTexts(bench, document);
  const sides = [await startProduct(bench, document, threads), await startModel(bench, texts, threads)];
  const measured = await alternate(session, sides, options.rounds, (side) => measure(side, texts.length));
  return [
    {
      title: `Embedded mode: indexing of Markdown, embedding threads: ${threads}; ${options.rounds} rounds of ${texts.length} chunks`,
      rows: sides.map((side, i) => toRow(side, measured[i]!, 'chunk')),
      aims: compareSpeed({ name: 'indexing / bare onnxruntime', atLeast: 0.9 }, measured[0]!, measured[1]!),
      notes: [],
      errors: [],
      rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
    },
  ];
}

async function startProduct(bench: Workbench, document: string, threads: number): Promise<Candidate> {
  const platform = await openEmbedded(bench, { EMBEDDINGS_THREADS: String(threads) });
  const bot = await openBot(platform);
  let made = 0;
  return {
    name: 'Parley, embedded',
    url: platform.url,
    layers: { standalone: [platform.pids['standalone']!], postgres: [bench.postgresPid] },
    processes: platform.pids,
    index: () => indexFile(bench.session, bot, `document-${++made}.md`, document),
  };
}

async function startModel(bench: Workbench, texts: string[], threads: number): Promise<Candidate> {
  const { pid, url } = await openBare(bench, 'bare-model', { THREADS: String(threads) });
  const body = JSON.stringify(texts);
  const index = async () => (await fetch(url, { method: 'POST', body })).arrayBuffer();
  return { name: 'bare onnxruntime', url, layers: { model: [pid] }, processes: { model: pid }, index };
}

function measure(side: Candidate, chunks: number): Promise<Round> {
  return timed(side, async () => {
    const start = performance.now();
    await side.index();
    return { count: chunks, perSecond: (1000 * chunks) / (performance.now() - start) };
  });
}

export async function indexFile(session: Session, { client }: Bot, key: string, content: string): Promise<void> {
  const { file } = await client.uploadFile({ key, content, index: true });
  for (;;) {
    session.checkpoint();
    const { status, failedStatusReason } = (await client.getFile({ id: file.id })).file;
    if (status === 'indexing_completed') return;
    if (status === 'indexing_failed') throw new Error(`${key} was not indexed: ${failedStatusReason}`);
    await sleep(pollMs);
  }
}
