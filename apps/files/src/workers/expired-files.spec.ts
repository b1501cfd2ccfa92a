import { createLogger } from '@parley/logging/logger';
import type { Round } from '@parley/work-queue/worker';
import { FilesConfig } from '../config';
import { ExpiredFilesService } from './expired-files.service';

interface Overdue {
  lapsed?: number;
  expired?: number;
  fails?: boolean;
}

/** Sweep of bots with so many lapsed uploads and expired files. */
function sweepOf(bots: Record<string, Overdue>, signal = new AbortController().signal) {
  const swept: string[] = [];
  const files = {
    listBotsWithOverdue: () => Promise.resolve(Object.keys(bots)),
    failLapsedUploads: (botId: string) => {
      if (bots[botId]!.fails) return Promise.reject(new Error('The database has gone.'));
      swept.push(botId);
      return Promise.resolve(bots[botId]!.lapsed ?? 0);
    },
    deleteExpired: (_tx: unknown, botId: string) =>
      Promise.resolve(Array.from({ length: bots[botId]!.expired ?? 0 }, () => ({ botId, fileId: 'file' }))),
  };
  const none = () => Promise.resolve([]);
  const service = new ExpiredFilesService(
    { transaction: (work: (tx: object) => Promise<unknown>) => work({}) } as never,
    files as never,
    { deleteSuperseded: none } as never,
    { deleteAbandonedUploads: none } as never,
    { add: none } as never,
    { logger: createLogger('test', 'silent') } as never,
    new FilesConfig(),
  );
  return { swept, isMore: () => service.sweep({ signal } as Round) };
}

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, nth) => [`bot ${nth}`, {}]));

it.each<[what: string, bots: Record<string, Overdue>]>([
  ['100 lapsed uploads', { bot: { lapsed: 100 } }],
  ['100 expired files', { bot: { expired: 100 } }],
  ['100 bots', many(100)],
])('sweeps on at once after %s', async (_what, bots) => {
  expect(await sweepOf(bots).isMore()).toBe(true);
});

it.each<[what: string, bots: Record<string, Overdue>]>([
  ['99 lapsed uploads and 99 expired files', { bot: { lapsed: 99, expired: 99 } }],
  ['99 bots', many(99)],
])('ends a sweep after %s', async (_what, bots) => {
  expect(await sweepOf(bots).isMore()).toBe(false);
});

it('sweeps the other bots when one fails', async () => {
  const { swept, isMore } = sweepOf({ one: {}, bad: { fails: true }, two: { expired: 100 } });

  expect(await isMore()).toBe(true);
  expect(swept).toEqual(['one', 'two']);
});

it('stops between bots when the process stops', async () => {
  const { swept, isMore } = sweepOf({ one: {}, two: {} }, AbortSignal.abort());

  await isMore();

  expect(swept).toEqual([]);
});
