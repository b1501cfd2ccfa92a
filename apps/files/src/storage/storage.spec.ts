import { fakeClock, realClock } from '@parley/testing/fake-clock';
import type { StorageUseRepository } from '../store/storage-use.repository';
import type { Database } from '@parley/persistence/database';
import { FilesConfig } from '../config';
import { StorageService } from './storage.service';

/** Checks the storage of bots, each of which takes so long. */
async function reconcile(bots: string[], eachMs: number) {
  fakeClock('Date');
  const use = {
    listBotsWithFiles: () => Promise.resolve(bots),
    recountUseOfBot: async () => {
      jest.advanceTimersByTime(eachMs);
      return { wasWrong: false };
    },
  };
  const database = { transaction: <T>(work: (tx: object) => Promise<T>) => work({}) };
  const storage = new StorageService(
    database as unknown as Database,
    use as unknown as StorageUseRepository,
    {} as never,
    new FilesConfig(),
  );
  return storage.reconcile({});
}

afterEach(realClock);

it('checks the storage of bots for ten seconds, and continues at the next call', async () => {
  expect(await reconcile(['a', 'b', 'c', 'd'], 4_000)).toMatchObject({ checked: 3, next: 'c' });
  expect(await reconcile(['a', 'b'], 60_000)).toMatchObject({ checked: 1, next: 'a' });
});

it('checks the storage of at most fifty bots in a call, and says which was the last', async () => {
  const bots = Array.from({ length: 50 }, (_, index) => `bot ${index}`);

  expect(await reconcile(bots, 1)).toMatchObject({ checked: 50, next: 'bot 49' });
  expect(await reconcile(bots.slice(1), 1)).toMatchObject({ checked: 49, next: undefined });
});
