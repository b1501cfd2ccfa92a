import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { waitFor } from '@parley/testing/wait-for';
import { BundledEmbedder, threadsFor } from './bundled-embedder';
import { dot } from './vectors';

const opened: BundledEmbedder[] = [];
const open = (threads = 1) => {
  const embedder = new BundledEmbedder({ threads });
  opened.push(embedder);
  return embedder;
};
const workersOf = (embedder: BundledEmbedder): Worker[] => [...embedder['workers']];
const prose = 'The gateway proves who is calling and forwards the body to the service that owns the operation. ';

const shared = open();

afterAll(() => Promise.all(opened.map((embedder) => embedder.close())));

it.each([
  [8, Infinity, 7],
  [1, Infinity, 1],
  [8, 2 * 2 ** 30, 3],
  [2, 2 * 2 ** 30, 1],
  [8, 2 ** 28, 1],
])('starts with %d cores and %d bytes of memory at most %d threads by default', (cores, limitBytes, threads) => {
  expect(threadsFor(cores, limitBytes)).toBe(threads);
});

it('starts no thread before the first text', async () => {
  expect(workersOf(shared)).toEqual([]);
  await shared.ready();
  expect(workersOf(shared)).toHaveLength(1);
});

it('returns unit vectors in order, closer together for texts of similar meaning', async () => {
  const [question, answer, unrelated] = await shared.embed([
    'How do I get my money back?',
    'To request a refund, contact our billing department.',
    'The volcano on the northern island erupted at dawn.',
  ]);

  expect(question).toHaveLength(512);
  for (const vector of [question, answer, unrelated]) expect(dot(vector!, vector!)).toBeCloseTo(1, 4);
  expect(dot(question!, answer!)).toBeGreaterThan(dot(question!, unrelated!) + 0.1);
});

it('returns the same vectors for single texts and for batches on several threads', async () => {
  const texts = Array.from({ length: 7 }, (_, i) => `Text number ${i}. ${prose.repeat(i)}`);
  const together = await open(2).embed(texts);

  for (const [i, text] of texts.entries()) {
    const [alone] = await shared.embed([text]);
    expect(dot(alone!, together[i]!)).toBeCloseTo(1, 4);
  }
});

it('embeds a long text to its end', async () => {
  const filler = prose.repeat(8);
  const [plain, ending, query] = await shared.embed([
    filler,
    `${filler} Penguins are birds that cannot fly. They live on the ice of Antarctica and eat fish.`,
    'penguins in Antarctica',
  ]);

  expect(dot(ending!, query!)).toBeGreaterThan(dot(plain!, query!) + 0.05);
});

it('embeds texts without words', async () => {
  const vectors = await shared.embed(['', ' ', '\u0000', '🦜', '\ud800', '文'.repeat(700)]);

  expect(vectors.map((vector) => Math.round(dot(vector, vector) * 100))).toEqual([100, 100, 100, 100, 100, 100]);
});

it('does not block the event loop', async () => {
  const windows = 10;
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);

  await shared.embed(Array.from({ length: windows }, () => prose.repeat(5)));

  clearInterval(timer);
  // If the model ran on this thread, the event loop would turn at most once between two windows.
  expect(turns).toBeGreaterThan(2 * windows);
});

it('cancels queued texts on abort without affecting other calls', async () => {
  const abort = new AbortController();
  const large = shared.embed(
    Array.from({ length: 200 }, () => prose),
    abort.signal,
  );
  const small = shared.embed(['a small one']);
  large.catch(() => undefined);

  await small;
  abort.abort(new Error('the file was replaced'));

  await expect(large).rejects.toThrow('the file was replaced');
  await expect(shared.embed(['the next one'])).resolves.toHaveLength(1);
});

it('rejects texts when already aborted', async () => {
  const embedder = open();

  await expect(embedder.embed(['x'], AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');

  expect(workersOf(embedder)).toEqual([]);
});

it('replaces a thread that dies and repeats its work', async () => {
  await shared.ready();
  const [victim] = workersOf(shared);

  const embedding = shared.embed(Array.from({ length: 4 }, () => prose));
  await nextTurn();
  await victim!.terminate();

  await expect(embedding).resolves.toHaveLength(4);
  expect(workersOf(shared)).toHaveLength(1);
  expect(workersOf(shared)).not.toContain(victim);
});

it('rejects a text whose threads die twice, and embeds the next', async () => {
  const embedder = open();

  const embedding = embedder.embed([prose]);
  embedding.catch(() => undefined);
  for (let deaths = 0; deaths < 2; deaths++) {
    await waitFor(() => workersOf(embedder).length > 0);
    await workersOf(embedder)[0]!.terminate();
  }

  await expect(embedding).rejects.toMatchObject({ name: 'EmbedderUnavailable' });
  await expect(embedder.embed(['the next one'])).resolves.toHaveLength(1);
});

it('rejects pending and later texts when the embedder is closed', async () => {
  await shared.ready();
  const embedding = shared.embed(Array.from({ length: 50 }, () => prose));
  embedding.catch(() => undefined);

  await shared.close();

  await expect(embedding).rejects.toMatchObject({ name: 'EmbedderUnavailable', message: 'The embedder is closed.' });
  await expect(shared.embed(['x'])).rejects.toThrow('The embedder is closed.');
  expect(workersOf(shared)).toEqual([]);
});
