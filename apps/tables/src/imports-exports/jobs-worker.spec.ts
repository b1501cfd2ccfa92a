import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Work } from '@parley/work-queue/queue';
import { JobFailed } from '../jobs/job-lease';
import { JobsWorker } from './jobs.worker';
import { UnreadableFile } from './read-row';

/** Run of an import that ends like this. */
function run(error: Error | undefined, signal = new AbortController().signal) {
  const outcomes: unknown[] = [];
  const jobs = {
    startJob: () => Promise.resolve({ id: 'job', type: 'import', progress: 0 }),
    completeJob: (_tx: unknown, _id: string, outcome: object) => Promise.resolve(void outcomes.push(outcome)),
    failJob: (_tx: unknown, _id: string, reason: string) => Promise.resolve(void outcomes.push(reason)),
  };
  const importing = { run: () => (error ? Promise.reject(error) : Promise.resolve({ warnings: ['w'] })) };
  const none = {} as never;
  const worker = new JobsWorker(
    { transaction: (work: (tx: object) => Promise<unknown>) => work({}) } as never,
    jobs as never,
    importing as never,
    none,
    none,
    none,
  );
  const work = { key: 'job', signal, confirm: () => Promise.resolve() } as unknown as Work;
  return { ran: worker.run(work), outcomes };
}

it('completes a job with its outcome', async () => {
  const { ran, outcomes } = run(undefined);

  await ran;

  expect(outcomes).toEqual([{ warnings: ['w'] }]);
});

it.each([
  ['an unreadable file', new UnreadableFile('No CSV.')],
  ['a deleted table', new JobFailed('No CSV.')],
  ['a refusal of another service', new ApiError('ResourceNotFound', 'No CSV.')],
])('fails a job for good after %s', async (_what, error) => {
  const { ran, outcomes } = run(error);

  await ran;

  expect(outcomes).toEqual(['No CSV.']);
});

it.each([
  ['a service that is away', unavailable('Try again in a moment.'), 'Try again in a moment.'],
  ['an unknown error, whose text is not shown', new Error('connect 10.0.0.1'), 'Internal error. Try again later.'],
])('repeats a job after %s', async (_what, error, reason) => {
  const { ran, outcomes } = run(error);

  await expect(ran).rejects.toThrow(reason);
  expect(outcomes).toEqual([]);
});

it('leaves a job to another process when its own one stops', async () => {
  const { ran, outcomes } = run(new UnreadableFile('cut'), AbortSignal.abort(new Error('stopping')));

  await expect(ran).rejects.toThrow('stopping');
  expect(outcomes).toEqual([]);
});
