import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
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
const workersOf = (embedder: BundledEmbedder): Worker[] => [...embedder['workers'].keys()];
/** Ends the thread with an error, since it is no text. */
const kill = (worker: Worker) => worker.postMessage({ toString: 0, valueOf: 0 });
const prose = 'The gateway proves who is calling and forwards the body to the service that owns the operation. ';

const references = readFileSync(join(__dirname, 'test/reference.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { text: string; vector?: string });
/** Reads little-endian 32-bit numbers from Base64. */
const floats = (base64: string) => {
  const bytes = Buffer.from(base64, 'base64');
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
};

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

it('embeds a query before the passages that wait', async () => {
  let done = 0;
  const passages = Array.from({ length: 30 }, (_, n) => shared.embed([`passage ${n}`]).then(() => done++));

  await shared.embedQuery('query');

  expect(done).toBeLessThan(3);
  await Promise.all(passages);
});

it('reads model files whose sums are stored beside them', async () => {
  const folder = join(__dirname, '../model');
  const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n');
  const computed = sums.map((line) => {
    const name = line.split('  ')[1]!;
    return `${createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')}  ${name}`;
  });

  expect(computed).toEqual(sums);
  expect((await readdir(folder)).filter((name) => name.endsWith('.gz'))).toHaveLength(sums.length);
});

it('returns the vectors of the published Python package', async () => {
  const expected = references.filter(({ vector }) => vector);
  const vectors = await shared.embed(expected.map(({ text }) => text));

  expect(expected).toHaveLength(20);
  const differing = expected.filter(({ vector }, i) => dot(vectors[i]!, floats(vector!)) < 1 - 1e-6);
  expect(differing.map(({ text }) => text)).toEqual([]);
});

it('finds the English sentence of the same meaning for a question in another language', async () => {
  const passages = [
    'To request a refund, contact our billing department.',
    'The volcano on the northern island erupted at dawn.',
    'Dogs and cats are welcome in every room.',
  ];
  const questions = ['Wie bekomme ich mein Geld zurück?', '火山はいつ噴火しましたか？', 'هل يمكنني إحضار قطتي؟'];
  const vectors = await shared.embed(passages);

  const nearest = (await shared.embed(questions)).map((question) => {
    const scores = vectors.map((vector) => dot(question, vector));
    return scores.indexOf(Math.max(...scores));
  });
  expect(nearest).toEqual([0, 1, 2]);
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
  const texts = 10;
  let turns = 0;
  const timer = setInterval(() => (turns += 1), 1);

  await shared.embed(Array.from({ length: texts }, () => prose.repeat(50)));

  clearInterval(timer);
  // If the model ran on this thread, the event loop would turn at most once between two texts.
  expect(turns).toBeGreaterThan(2 * texts);
});

it('cancels queued texts on abort without affecting other calls', async () => {
  const abort = new AbortController();
  const large = shared.embed(
    Array.from({ length: 200 }, () => prose.repeat(20)),
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

  const embedding = shared.embed(Array.from({ length: 4 }, () => prose.repeat(100)));
  await nextTurn();
  kill(victim!);

  await expect(embedding).resolves.toHaveLength(4);
  expect(workersOf(shared)).toHaveLength(1);
  expect(workersOf(shared)).not.toContain(victim);
});

it('rejects a text whose threads die twice, and embeds the next', async () => {
  const embedder = open();

  const embedding = embedder.embed([prose.repeat(100)]);
  embedding.catch(() => undefined);
  const killed = new Set<Worker>();
  while (killed.size < 2) {
    const next = () => workersOf(embedder).find((worker) => !killed.has(worker));
    await waitFor(() => next() !== undefined);
    const victim = next()!;
    kill(victim);
    killed.add(victim);
  }

  await expect(embedding).rejects.toMatchObject({ name: 'EmbedderUnavailable' });
  await expect(embedder.embed(['the next one'])).resolves.toHaveLength(1);
});

it('lets the process exit while threads compute', async () => {
  const program = `
    const { BundledEmbedder } = require('./dist/libs/passages/src/bundled-embedder.js');
    const embedder = new BundledEmbedder({ threads: 2 });
    embedder.ready().then(() => {
      embedder.embed(Array(50).fill('word '.repeat(2000)));
      setTimeout(() => process.exit(7), 30);
    });`;
  const child = spawn(process.execPath, ['-e', program], { cwd: join(__dirname, '../../..'), stdio: 'ignore' });

  expect(await once(child, 'exit')).toEqual([7, null]);
});

it('rejects pending and later texts when the embedder is closed', async () => {
  await shared.ready();
  const embedding = shared.embed(Array.from({ length: 50 }, () => prose.repeat(20)));
  embedding.catch(() => undefined);

  await shared.close();

  await expect(embedding).rejects.toMatchObject({ name: 'EmbedderUnavailable', message: 'The embedder is closed.' });
  await expect(shared.embed(['x'])).rejects.toThrow('The embedder is closed.');
  expect(workersOf(shared)).toEqual([]);
});
