import { unavailable } from '@parley/contracts/errors';
import { UnreadableDocument } from '@parley/documents/block';
import type { LeasedJob } from '../../../files/src/store/jobs.repository';
import { createLogger } from '@parley/logging/logger';
import { ServerBusy, ServerRefused, ServerUnavailable } from '@parley/openai/server-errors';
import { ModelsAway } from '@parley/service/models.client';
import { LeaseLost } from '@parley/work-queue/queue';
import { FilesWorkerConfig } from '../config';
import { IndexingJobService } from './indexing-job.service';
import { OcrBusy, OcrService } from './ocr.service';
import { ReaderStarved } from './reader-errors';

const version = { botId: 'bot', fileId: 'file', contentVersion: 'v1' };

/** Outcome of an attempt that ends like this: calls of the repositories, without the arguments that all share. */
async function outcomeOf(
  error: Error,
  attempts: number,
  stopping = new AbortController().signal,
  lastError: string | null = null,
): Promise<unknown[]> {
  const calls: unknown[] = [];
  const jobs = {
    countAttempts: () => Promise.resolve(attempts),
    postponeJob: (_job: unknown, postponed: object) => Promise.resolve(void calls.push(postponed)),
    giveBackJob: () => Promise.resolve(void calls.push('given back')),
    returnAttempt: () => Promise.resolve(void calls.push('returned')),
    finishJob: () => Promise.resolve(true),
  };
  const files = {
    failIndexing: (_tx: unknown, _fileId: string, _version: string, { reason }: { reason: string }) =>
      Promise.resolve(void calls.push({ failed: reason })),
  };
  const config = new FilesWorkerConfig();
  const service = new IndexingJobService(
    { transaction: (work: (tx: object) => Promise<unknown>) => work({}) } as never,
    files as never,
    jobs as never,
    { add: () => Promise.resolve() } as never,
    {} as never,
    { index: () => Promise.reject(error) } as never,
    new OcrService(config),
    config,
    { logger: createLogger('test', 'silent'), instance: 'worker' } as never,
  );
  const file = { indexing: {}, content_type: 'text/plain', key: 'a' };
  const job = {
    version,
    file,
    lease: 'lease',
    attempt: attempts,
    lastError,
    traceparent: null,
  } as unknown as LeasedJob;
  await service.run(job, stopping).catch((thrown: unknown) => calls.push({ thrown }));
  return calls;
}

it.each([
  ['a starved reader', new ReaderStarved()],
  ['a busy server', new ServerBusy('slow down', 60_000)],
  ['a database that is away', unavailable('away')],
])(
  'repeats an attempt that ended by %s after 2 s, however many there were, and does not count it',
  async (_what, error) => {
    expect(await outcomeOf(error, 10)).toEqual([{ counts: 'nothing', pauseMs: 2_000, error: error.message }]);
  },
);

it('does not count an attempt while the models service is away, and repeats it after a minute', async () => {
  expect(await outcomeOf(new ModelsAway('away'), 10)).toEqual([{ counts: 'nothing', pauseMs: 60_000, error: 'away' }]);
});

it('lets a file wait that has no turn for OCR, and does not count the attempt', async () => {
  const error = new OcrBusy();

  expect(await outcomeOf(error, 10)).toEqual([{ counts: 'nothing', pauseMs: 10_000, error: error.message }]);
});

it.each([
  [1, 1_000],
  [3, 4_000],
  [9, 60_000],
])('repeats a failed attempt %d after %d ms', async (attempt, pauseMs) => {
  const error = 'The server gives no answer.';

  expect(await outcomeOf(new ServerUnavailable(error), attempt)).toEqual([{ counts: 'attempt', pauseMs, error }]);
});

it('gives a file up after ten attempts, without the text of unknown errors', async () => {
  expect(await outcomeOf(new Error('connect 10.0.0.1'), 10)).toEqual([
    { failed: 'Indexing was tried 10 times. Internal error: upload the file again later.' },
  ]);
});

it.each([
  ['an unreadable document', new UnreadableDocument('No text.')],
  ['a refused question', new ServerRefused('No text.')],
])('fails a file at once after %s', async (_what, error) => {
  expect(await outcomeOf(error, 1)).toEqual([{ failed: 'No text.' }]);
});

it('returns the attempt of a job whose lease it has lost', async () => {
  expect(await outcomeOf(new LeaseLost('lost'), 1)).toEqual(['returned']);
});

it('gives a job back when the process stops, and has its event delivered again', async () => {
  const error = new Error('stopped');

  expect(await outcomeOf(error, 10, AbortSignal.abort())).toEqual(['given back', { thrown: error }]);
});

it.each([
  [null, 'The worker process died each time.'],
  ['It was slow.', 'It was slow.'],
])(
  'does not begin an eleventh attempt after processes that died, with the last error %j',
  async (lastError, reason) => {
    const begun = new Error('begun');

    expect(await outcomeOf(begun, 11, undefined, lastError)).toEqual([
      { failed: `Indexing was tried 10 times. ${reason}` },
    ]);
    expect(await outcomeOf(begun, 10, AbortSignal.abort())).toContainEqual({ thrown: begun });
  },
);
