import type { Database } from '@parley/persistence/database';
import { JobsWorker } from './imports-exports/jobs.worker';
import type { JobsRepository } from './jobs/jobs.repository';

it.each([
  [10, 'Failed after 10 attempts. The disk is full.'],
  [11, 'Failed after 10 attempts. The worker process stopped unexpectedly each time.'],
])('gives a job up after ten attempts without progress, and tells why after %d', async (attempts, reason) => {
  const failed: unknown[] = [];
  const failJob = (_database: unknown, key: string, text: string) => Promise.resolve(failed.push([key, text]));
  const none = {} as never;
  const worker = new JobsWorker({} as Database, { failJob } as unknown as JobsRepository, none, none, none, none);

  await worker.fail({ key: 'job', tenant: '', payload: null, attempts }, 'The disk is full.');

  expect(failed).toEqual([['job', reason]]);
});
