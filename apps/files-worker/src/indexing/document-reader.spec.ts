import { Readable } from 'node:stream';
import type * as runnableTime from '@parley/child-processes/runnable-time';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { waitFor } from '@parley/testing/wait-for';
import type { Adviser } from '@parley/documents/adviser';
import { UnreadableDocument } from '@parley/documents/block';
import { zipOfTexts } from '@parley/documents/test/zip-of';
import { DocumentReaderService, readerLimits } from './document-reader.service';
import type { Batch, ReadingTask } from './document.child';
import { ReaderDied, ReaderFailed, ReaderStarved } from './reader-errors';

/** Time for which each reader has run or has waited for a processor; measured when undefined. */
let mockRunnableMs: (() => number) | undefined;
jest.mock('@parley/child-processes/runnable-time', () => {
  const actual = jest.requireActual<typeof runnableTime>('@parley/child-processes/runnable-time');
  return { ...actual, runnableMsOf: async (pid: number) => mockRunnableMs?.() ?? actual.runnableMsOf(pid) };
});

const sentence = 'Each of these words is read once and in its order. ';
interface Document {
  task: ReadingTask;
  content: () => AsyncIterable<Uint8Array>;
}

const document = (text: string | Buffer, contentType = 'text/plain', options: Partial<ReadingTask> = {}): Document => {
  const bytes = Buffer.from(text as string);
  return {
    task: { sizeBytes: bytes.length, contentType, key: 'a', maximumLength: 1000, ...options },
    content: () => Readable.from([bytes]),
  };
};
const never = new AbortController().signal;
const reader = new DocumentReaderService();
afterAll(() => reader.onApplicationShutdown());

async function readAll({ task, content }: Document, by = reader): Promise<Batch[]> {
  const batches: Batch[] = [];
  for await (const batch of by.read(task, content(), never)) batches.push(batch);
  return batches;
}

it('yields the chunks in batches, in order, with the progress', async () => {
  const batches = await readAll(document(`${sentence.repeat(60)}\n\n`.repeat(1000)));

  const chunks = batches.flatMap((batch) => batch.chunks);
  expect(batches.length).toBeGreaterThan(10);
  expect(batches.slice(0, -1).every((batch) => batch.chunks.length === 32)).toBe(true);
  expect(chunks.map(({ position }) => position)).toEqual(chunks.map((_, i) => i));
  expect(
    chunks
      .map(({ content }) => content)
      .join(' ')
      .match(/Each/g),
  ).toHaveLength(60_000);
  const parts = batches.map(({ part }) => part);
  expect(parts).toEqual(parts.toSorted((a, b) => a - b));
  expect(parts[0]).toBeLessThan(0.5);
  expect(parts.at(-1)).toBe(1);
});

it('tells the format, and how far a document is read that has no block before', async () => {
  const items = [1, 2, 3, 4].map(
    (n) => `<item id="${n}" href="${n}.html" media-type="text/html"/><itemref idref="${n}"/>`,
  );
  const book = zipOfTexts({
    'META-INF/container.xml': '<container><rootfile full-path="a.opf"/></container>',
    'a.opf': `<package><manifest>${items.join('')}</manifest><spine>${items.join('')}</spine></package>`,
    ...Object.fromEntries([1, 2, 3, 4].map((n) => [`${n}.html`, `<p>${sentence}</p>`])),
  });
  const { task, content } = document(book, 'application/epub+zip');
  const watched: unknown[] = [];

  for await (const { chunks } of reader.read(task, content(), never, {
    onFormat: (format) => watched.push(format),
    onReading: (part) => watched.push(part),
  })) {
    watched.push(chunks.length > 0);
  }

  expect(watched).toEqual(['EPUB', 0.25, 0.5, 0.75, true]);
});

it('reports the problem of an unreadable document', async () => {
  await expect(readAll(document(' '))).rejects.toThrow(UnreadableDocument);
});

describe('the time of a reader', () => {
  const processorMs = 60_000;
  const backstopMs = 10 * processorMs;
  let own: DocumentReaderService;
  let started: jest.SpyInstance<unknown, Parameters<typeof setTimeout>>;
  let stopped: jest.SpyInstance<unknown, Parameters<typeof clearTimeout>>;

  beforeEach(() => {
    own = new DocumentReaderService();
    fakeClock('performance', 'setTimeout', 'clearTimeout');
    started = jest.spyOn(globalThis, 'setTimeout');
    stopped = jest.spyOn(globalThis, 'clearTimeout');
  });
  afterEach(async () => {
    mockRunnableMs = undefined;
    jest.restoreAllMocks();
    realClock();
    await own.onApplicationShutdown();
  });

  /** The timer of the wall clock is the only one that is longer than the limit of processor time. */
  const isCounting = () => {
    const left = new Set(
      started.mock.results.filter((_, i) => started.mock.calls[i]![1]! > processorMs).map(({ value }) => value),
    );
    for (const [timer] of stopped.mock.calls) left.delete(timer);
    return left.size > 0;
  };
  const untilUncounted = () => waitFor(() => !isCounting() || poolOf(own).idle.length > 0);

  it('excludes the adviser and the time without a request after its answer from the time of a reader', async () => {
    const { task, content } = document(`${sentence.repeat(20)}\n\n`.repeat(400), 'text/plain', {
      advice: { labels: true },
    });
    let windows = 0;
    const unasked = () => Promise.reject(new Error('not asked for'));
    const label = async () => {
      windows++;
      jest.advanceTimersByTime(backstopMs);
      return undefined;
    };

    const adviser = { label, transcribe: unasked, describe: unasked };
    for await (const batch of own.read(task, content(), never, { adviser, processorMs })) {
      void batch;
      await untilUncounted();
      jest.advanceTimersByTime(backstopMs);
    }

    expect(windows).toBe(10);
  });

  it('excludes the time without a request, in which reading pauses, from the time of a reader', async () => {
    const parts: number[] = [];

    const { task, content } = document(`${sentence.repeat(20)}\n\n`.repeat(3_000));
    for await (const { part } of own.read(task, content(), never, { processorMs })) {
      parts.push(part);
      await untilUncounted();
      jest.advanceTimersByTime(backstopMs);
    }

    expect(parts[0]).toBeLessThan(0.5);
    expect(parts.at(-1)).toBe(1);
  });

  /** Reads a document whose reader stands still once it has begun, while the wall clock goes on. */
  async function readWhilePassing(ms: number): Promise<string> {
    const { task, content } = document(`<p>Read in the end.</p>${'<p></p>'.repeat(500_000)}`, 'text/html');
    const read = own.read(task, content(), never, { processorMs }).getReader().read();
    const [child] = poolOf(own).all;
    await waitFor(isCounting);
    process.kill(child!.pid!, 'SIGSTOP');
    jest.advanceTimersByTime(ms);
    process.kill(child!.pid!, 'SIGCONT');
    return (await read).value!.chunks[0]!.content;
  }

  it('waits nine times the limit of processor time on the clock for a reader', async () => {
    expect(await readWhilePassing(backstopMs - processorMs)).toBe('Read in the end.');
  });

  it('ends a reader that waited for a processor ten times as long, and says that it is tried again', async () => {
    mockRunnableMs = () => performance.now();

    const read = readWhilePassing(backstopMs);

    await expect(read).rejects.toThrow(ReaderStarved);
    await expect(read).rejects.toThrow(/too little processor time.*tried again/);
  });

  it('ends a reader that neither ran nor waited for a processor ten times as long', async () => {
    mockRunnableMs = () => 5;

    const read = readWhilePassing(backstopMs);

    await expect(read).rejects.toThrow(ReaderDied);
    await expect(read).rejects.toThrow(/^The document stops its reader: save it again/);
  });
});

it('fails a document with the error of the adviser', async () => {
  const { task, content } = document('One.\n\nTwo.', 'text/plain', { advice: { labels: true } });
  const fail = () => Promise.reject(new Error('the model is gone'));

  const read = reader.read(task, content(), never, { adviser: { label: fail, transcribe: fail, describe: fail } });

  await expect(read.getReader().read()).rejects.toThrow('the model is gone');
});

it('shortens a problem that quotes the document', async () => {
  const container = `<container><rootfile full-path="${'b'.repeat(1_000_000)}"/></container>`;

  const read = readAll(document(zipOfTexts({ 'META-INF/container.xml': container }), 'application/epub+zip'));

  await expect(read).rejects.toThrow(/^The document is damaged: it lacks its part b{800,}$/);
  expect(((await read.catch((error: unknown) => error)) as Error).message).toHaveLength(1_000);
});

/** An adviser whose answers the reader does not expect. */
const strange = { label: () => Promise.resolve({ labels: 5 }) } as unknown as Adviser;

it('names the reader and the place of an unexpected exception', async () => {
  const { task, content } = document('<p>One.</p>', 'text/html', { advice: { labels: true } });

  const read = reader.read(task, content(), never, { adviser: strange }).getReader().read();

  const error = await read.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ReaderFailed);
  expect(error).toMatchObject({
    message: expect.stringMatching(
      /^The HTML reader failed on this document \(TypeError in relabel, labelled-blocks\.js:\d+\)\.$/,
    ),
    hasPlainText: true,
    cause: expect.stringContaining('labelled-blocks.js'),
  });
});

it('reads a document as plain text', async () => {
  const batches = await readAll(document('<h1>One</h1><p>Two <b>words</b></p>', 'text/html', { asPlainText: true }));

  expect(batches.flatMap(({ chunks }) => chunks)).toEqual([
    { content: 'One\n\nTwo words', subtype: 'paragraph', position: 0, pageNumber: undefined, breadcrumb: [] },
  ]);
});

it('kills a reader that exceeds its limit of processor time', async () => {
  const read = async () => {
    const { task, content } = document('<p>'.repeat(1_000_000), 'text/html');
    for await (const batch of reader.read(task, content(), never, { processorMs: 500 })) void batch;
  };

  await expect(read()).rejects.toThrow(/more than 0.5 s of processor time.*Split it/);
});

it.each([
  [24 * 2 ** 30, 3, 2048],
  [2 * 2 ** 30, 3, 512],
  [2 ** 30, 2, 256],
  [100 * 2 ** 20, 2, 192],
])('allows for %d bytes of memory %d readers of %d MiB each', (memoryBytes, readers, residentMb) => {
  expect(readerLimits(memoryBytes)).toEqual({ readers, residentMb });
});

describe('in a container of 1 GiB', () => {
  let small: DocumentReaderService;

  beforeEach(() => {
    jest.spyOn(process, 'constrainedMemory').mockReturnValue(2 ** 30);
    small = new DocumentReaderService();
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await small.onApplicationShutdown();
  });

  it.each([
    ['fills its heap', document('<p>a'.repeat(2_000_000), 'text/html')],
    ['becomes one large string', document(`{"a": "${'Ж'.repeat(40_000_000)}"}`, 'application/json')],
  ])('ends a reader whose document %s, and reads the next document', async (_how, large) => {
    const read = readAll(large, small);
    await expect(read).rejects.toThrow(ReaderDied);
    await expect(read).rejects.toThrow('The document takes more than 256 MB of memory to read');

    expect((await readAll(document('<p>Fits.', 'text/html'), small))[0]!.chunks[0]!.content).toBe('Fits.');
  });
});

it('fails a document with the error of the content stream', async () => {
  const { task } = document('Never comes.');
  // oxlint-disable-next-line require-yield
  async function* broken(): AsyncGenerator<Uint8Array> {
    await Promise.resolve();
    throw new Error('the blob store is away');
  }

  await expect(reader.read(task, broken(), never).getReader().read()).rejects.toThrow('the blob store is away');
});

it.each(['short', 'longer than it should be'])('rejects content of the wrong length: %s', async (what) => {
  const { task } = document('Twelve bytes');

  const read = reader
    .read(task, Readable.from([Buffer.from(what)]), never)
    .getReader()
    .read();

  await expect(read).rejects.toThrow('does not have the 12 bytes');
});

it('stops a reader with the reason when it is aborted', async () => {
  const stop = new AbortController();
  const read = async () => {
    const { task, content } = document(sentence.repeat(20_000));
    for await (const batch of reader.read(task, content(), stop.signal)) {
      void batch;
      stop.abort(new Error('replaced'));
    }
  };

  await expect(read()).rejects.toThrow('replaced');
});

it('reads one document after another in the same child, and ends it when its consumer leaves', async () => {
  const one = new DocumentReaderService();
  try {
    await readAll(document('First.'), one);
    const [first] = childrenOf(one);
    expect((await readAll(document('Second.'), one))[0]!.chunks[0]!.content).toBe('Second.');
    expect(childrenOf(one)).toEqual([first]);

    const { task, content } = document(sentence.repeat(20_000));
    for await (const batch of one.read(task, content(), never)) {
      void batch;
      break;
    }
    await waitFor(
      () => Promise.resolve(childrenOf(one)),
      (pids) => !pids.includes(first),
    );

    expect((await readAll(document('Still there.'), one))[0]!.chunks[0]!.content).toBe('Still there.');
  } finally {
    await one.onApplicationShutdown();
  }
});

function childrenOf(by: DocumentReaderService): (number | undefined)[] {
  return Array.from(poolOf(by).all, ({ pid }) => pid);
}

function poolOf(by: DocumentReaderService): { all: Set<{ pid?: number }>; idle: unknown[] } {
  return (by as unknown as { pool: ReturnType<typeof poolOf> }).pool;
}
