import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@parley/testing/until';
import { UnreadableDocument } from '@parley/documents/block';
import { DocumentReader, heapMbWithin } from './document-reader';
import type { Batch } from './document.child';

const sentence = 'Each of these words is read once and in its order. ';
const document = (content: string, contentType = 'text/plain') => ({
  bytes: new Uint8Array(Buffer.from(content)),
  contentType,
  key: 'a',
  maximumLength: 1000,
});
const never = new AbortController().signal;
const reader = new DocumentReader();
afterAll(() => reader.onApplicationShutdown());

async function readAll(task: ReturnType<typeof document>): Promise<Batch[]> {
  const batches: Batch[] = [];
  for await (const batch of reader.read(task, never)) batches.push(batch);
  return batches;
}

it('gives the chunks in batches, in order, with the part that is read', async () => {
  const batches = await readAll(document(`${sentence.repeat(60)}\n\n`.repeat(2000)));

  const chunks = batches.flatMap((batch) => batch.chunks);
  expect(batches.length).toBeGreaterThan(10);
  expect(batches.slice(0, -1).every((batch) => batch.chunks.length === 32)).toBe(true);
  expect(chunks.map(({ position }) => position)).toEqual(chunks.map((_, i) => i));
  expect(
    chunks
      .map(({ content }) => content)
      .join(' ')
      .match(/Each/g),
  ).toHaveLength(120_000);
  const parts = batches.map(({ part }) => part);
  expect(parts).toEqual(parts.toSorted((a, b) => a - b));
  expect(parts[0]).toBeLessThan(0.5);
  expect(parts.at(-1)).toBe(1);
});

it('says what is wrong with a document', async () => {
  await expect(readAll(document(' '))).rejects.toThrow(UnreadableDocument);
});

it('counts neither the time of its adviser nor that in which it is not asked after an answer', async () => {
  const timeoutMs = 4_000;
  const task = { ...document(`${sentence.repeat(20)}\n\n`.repeat(2_000)), advice: { labels: true } };
  let windows = 0;
  let batches = 0;
  const unasked = () => Promise.reject(new Error('not asked for'));
  const label = async () => {
    if (windows++ < 2) await sleep(timeoutMs * 0.6);
    return undefined;
  };

  const read = reader.read(task, never, { adviser: { label, transcribe: unasked, describe: unasked }, timeoutMs });
  for await (const batch of read) {
    if (batches++ < 2) await sleep(timeoutMs * 0.6);
    void batch;
  }

  expect(windows).toBe(50);
});

it('ends with what its adviser throws', async () => {
  const task = { ...document('One.\n\nTwo.'), advice: { labels: true } };
  const fail = () => Promise.reject(new Error('the model is gone'));

  const read = reader.read(task, never, { adviser: { label: fail, transcribe: fail, describe: fail } });

  await expect(read.getReader().read()).rejects.toThrow('the model is gone');
});

it('reads no further than it is asked, and does not count the time in which it is not asked', async () => {
  const parts: number[] = [];
  const timeoutMs = 3_000;
  const started = performance.now();

  for await (const { part } of reader.read(document(`${sentence.repeat(20)}\n\n`.repeat(5_000)), never, {
    timeoutMs,
  })) {
    parts.push(part);
    if (parts.length < 8) await sleep(timeoutMs / 6);
  }

  expect(performance.now() - started).toBeGreaterThan(timeoutMs);
  expect(parts[0]).toBeLessThan(0.5);
  expect(parts.at(-1)).toBe(1);
});

it('ends what takes longer than it may', async () => {
  const read = async () => {
    for await (const batch of reader.read(document('<p>'.repeat(5_000_000), 'text/html'), never, { timeoutMs: 100 }))
      void batch;
  };

  await expect(read()).rejects.toThrow(/longer than 0.1 s.*split it/);
});

it.each([
  [Infinity, 2048],
  [16 * 2 ** 30, 2048],
  [2 * 2 ** 30, 512],
  [100 * 2 ** 20, 256],
])('leaves half of a container to all else: of %d bytes each thread takes %d MB', (limitBytes, heapMb) => {
  expect(heapMbWithin(limitBytes)).toBe(heapMb);
});

it('ends what takes more memory than its part of a small container, and goes on with the next', async () => {
  jest.spyOn(process, 'constrainedMemory').mockReturnValue(2 ** 30);
  const small = new DocumentReader();
  const read = async (content: string) => {
    for await (const batch of small.read(document(content, 'text/html'), never)) return batch.chunks[0]?.content;
  };

  try {
    await expect(read('<p>a'.repeat(2_000_000))).rejects.toThrow(/more than 256 MB.*split it/);
    expect(await read('<p>Fits.')).toBe('Fits.');
  } finally {
    jest.restoreAllMocks();
    await small.onApplicationShutdown();
  }
});

it('stops when it is aborted, with the reason', async () => {
  const stop = new AbortController();
  const read = async () => {
    for await (const batch of reader.read(document(sentence.repeat(500_000)), stop.signal)) {
      void batch;
      stop.abort(new Error('replaced'));
    }
  };

  await expect(read()).rejects.toThrow('replaced');
});

it('ends the thread when its reader leaves', async () => {
  const { pool } = reader as unknown as { pool: { threads: { threadId: number }[]; run: unknown } };
  let threadsBefore: number[] = [];

  for await (const batch of reader.read(document(sentence.repeat(500_000)), never)) {
    void batch;
    threadsBefore = pool.threads.map(({ threadId }) => threadId);
    break;
  }

  await until(
    () => Promise.resolve(pool.threads.map(({ threadId }) => threadId)),
    (now) => threadsBefore.some((id) => !now.includes(id)),
  );
  expect((await readAll(document('Still there.')))[0]!.chunks[0]!.content).toBe('Still there.');
});
