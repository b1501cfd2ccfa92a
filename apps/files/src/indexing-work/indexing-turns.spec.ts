import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemCaller } from '@parley/contracts/caller';
import { files as operations } from '@parley/contracts/files';
import type { IndexingOptions } from '@parley/contracts/indexing-options';
import { Database } from '@parley/persistence/database';
import { JobsRepository } from '../store/jobs.repository';
import { BotFiles } from '@parley/testing/bot-files';
import { type RunningService, startService } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

const notNow = { pauseMs: 60_000, error: 'not now', counts: 'attempt' } as const;

let service: RunningService;
let blobsDir: string;
let sql: Database;
let jobs: JobsRepository;

beforeEach(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-turns-'));
  service = await startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), {
        databaseUrl,
        databasePoolSize: 5,
        blobsDir,
        contentUrl,
        secretKey: 's'.repeat(32),
        sweepIntervalMs: 50,
      }),
      platform,
    ),
  );
  sql = service.apps[0]!.get(Database, { strict: false });
  jobs = service.apps[0]!.get(JobsRepository, { strict: false });
});

afterEach(async () => {
  await service.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

async function botWithJobs(count: number): Promise<BotFiles> {
  const bot = new BotFiles(service);
  for (let number = 0; number < count; number += 1) await bot.upload(`file ${number}`, 'text', { index: true });
  return bot;
}

/** Makes the files of the bot as they are after an older version has indexed them. */
async function makeOlder(bot: BotFiles): Promise<void> {
  await sql.query(`UPDATE file SET status = 'indexing_completed', active_version = content_version WHERE bot_id = $1`, [
    bot.id,
  ]);
  await sql.query('DELETE FROM indexing_job WHERE bot_id = $1', [bot.id]);
}

async function take(count: number, names: Map<string, string>): Promise<(string | undefined)[]> {
  const taken: (string | undefined)[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const job = await jobs.claimNext('worker');
    taken.push(job && `${names.get(job.version.botId)} ${job.file.key}`);
  }
  return taken;
}

it('takes small texts of bots whose oldest job is one, and no other job', async () => {
  const upload = async (key: string, length: number, indexing?: IndexingOptions) => {
    const bot = new BotFiles(service);
    await bot.upload(key, 'x'.repeat(length), { index: true, indexing });
    return bot;
  };
  const small = await upload('small.txt', 16_384);
  const page = await upload('small.html', 10, { configuration: { chunking: { maximumChunkLength: 500 } } });
  const behind = await upload('large.txt', 16_385);
  await behind.upload('small.txt', 'x', { index: true });
  await upload('small.pdf', 10);
  const busy = await upload('busy.txt', 10);

  const taken = [];
  for (let job = await takeSmall(); job; job = await takeSmall()) taken.push(job.version.botId);

  expect(taken.sort()).toEqual([small.id, page.id].sort());

  function takeSmall() {
    return jobs.claimNext('worker', { exceptBots: [busy.id], areSmall: true });
  }
});

it('takes one job of each bot in turn, oldest first, so that no bot waits for all files of another', async () => {
  const [large, small] = [await botWithJobs(5), await botWithJobs(2)];
  const names = new Map([
    [large.id, 'large'],
    [small.id, 'small'],
  ]);

  const begun = await take(3, names);
  const late = await botWithJobs(1);
  const rest = await take(6, names.set(late.id, 'late'));

  expect(begun.toSorted()).toEqual(expect.arrayContaining(['large file 0', 'small file 0']));
  expect([...begun, ...rest].filter((job) => job?.startsWith('large'))).toEqual(
    [0, 1, 2, 3, 4].map((number) => `large file ${number}`),
  );
  expect(rest[0]).toBe('late file 0');
  expect([...begun, ...rest].indexOf('small file 1')).toBeLessThan(5);
  expect(rest.at(-1)).toBeUndefined();
});

it('gives each job to one worker, however many take jobs at once', async () => {
  await botWithJobs(6);
  await botWithJobs(6);

  const taken = await Promise.all(Array.from({ length: 16 }, (_, number) => jobs.claimNext(`worker ${number}`)));

  const ids = taken.flatMap((job) => (job ? [job.version.fileId] : []));
  expect(new Set(ids).size).toBe(12);
  expect(ids).toHaveLength(12);
});

it('does not take a job before its pause is over, and announces it again then', async () => {
  const bot = await botWithJobs(1);
  const announced = async () =>
    (await sql.query("SELECT 1 FROM outbox WHERE subject = 'files.uploaded' AND data->>'botId' = $1", [bot.id])).length;
  const job = (await jobs.claimNext('worker'))!;

  await jobs.postponeJob(job, notNow);

  expect(await jobs.claimNext('worker')).toBeUndefined();
  expect(await announced()).toBe(1);
  await sql.query("UPDATE indexing_job SET due_at = now() - interval '1 second'");
  await waitFor(announced, (times) => times === 2);
  expect(await jobs.claimNext('worker')).toMatchObject({ version: job.version, attempt: 2, lastError: 'not now' });
});

it('leaves a job whose pause is over to its own event, so that it uses up no other', async () => {
  // Nothing but this test announces jobs.
  await service.apps[0]!.get(BackgroundTasks, { strict: false }).stop();
  await botWithJobs(1);
  const paused = (await jobs.claimNext('worker'))!;
  await jobs.postponeJob(paused, notNow);
  await sql.query("UPDATE indexing_job SET due_at = now() - interval '1 second'");
  const bot = await botWithJobs(1);

  expect(await jobs.claimNext('worker')).toMatchObject({ version: { botId: bot.id } });
  expect(await jobs.claimNext('worker')).toBeUndefined();
  await sql.transaction((tx) => jobs.releaseStalledJobs(tx));
  expect(await jobs.claimNext('worker')).toMatchObject({ version: paused.version });
});

it('adds few files that are read anew to the queue, in turns of the bots, and more as these are taken', async () => {
  const bots = [await botWithJobs(10), await botWithJobs(6)];
  for (const bot of bots) await makeOlder(bot);
  const names = new Map(bots.map(({ id }, n) => [id, `bot ${n}`]));
  const waiting = async () =>
    (
      await sql.query<{ count: number }>(
        'SELECT count(*)::int AS count FROM indexing_job WHERE lease IS NULL GROUP BY bot_id ORDER BY 1',
      )
    ).map(({ count }) => count);

  const progress = await service.call(operations.reindex.readOlder, systemCaller('test'), {});
  await waitFor(waiting, (counts) => counts.reduce((sum, count) => sum + count, 0) === 8);
  const atFirst = await waiting();
  const fresh = new BotFiles(service);
  names.set(fresh.id, 'fresh');
  await fresh.upload('new', 'text', { index: true });
  const taken = await take(8, names);
  await waitFor(waiting, (counts) => counts.reduce((sum, count) => sum + count, 0) >= 7);

  expect(progress).toEqual({ left: 16, refused: 0, reading: 0 });
  expect(atFirst).toEqual([4, 4]);
  expect(taken.slice(0, 3)).toContain('fresh new');
});
