import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { until } from '@parley/testing/until';
import { LocalIndex } from './local-index';
import { LocalIndexRepository } from './local-index.repository';
import { LocalIndex1700000000200 } from './migrations/1700000000200-local-index';
import { describePassageIndex, point, query, testEmbedder } from './test/passage-index.behaviour';

let test: TestDatabase;
const openIndex = (options: { cacheMb?: number; model?: string } = {}) =>
  new LocalIndex({
    repository: new LocalIndexRepository(test.database),
    embedder: { ...testEmbedder, model: options.model ?? testEmbedder.model },
    cacheMb: options.cacheMb,
  });

beforeAll(async () => {
  test = await createTestDatabase([LocalIndex1700000000200], 'files');
});
afterAll(() => test.drop());

describe('with its points in memory', () => {
  let index: LocalIndex;
  beforeAll(() => (index = openIndex()));

  describePassageIndex(() => index);
});

describe('with more points than fit into memory', () => {
  let index: LocalIndex;
  beforeAll(() => (index = openIndex({ cacheMb: 0.0003 })));

  describePassageIndex(() => index);
});

it('ends a search of more points than fit into memory when it is told to, and makes one at a time', async () => {
  const bot = randomUUID();
  const repository = new LocalIndexRepository(test.database);
  let [underWay, most] = [0, 0];
  const readSince = repository.readSince.bind(repository);
  repository.readSince = async (...args) => {
    most = Math.max(most, ++underWay);
    await readSince(...args).finally(() => underWay--);
  };
  const index = new LocalIndex({ repository, embedder: testEmbedder, cacheMb: 0.0003 });
  await index.write(bot, [point(), point()]);
  const ended = new AbortController();
  ended.abort(new Error('too late'));

  const searches = Array.from({ length: 5 }, () => index.search(bot, query()));
  const late = index.search(bot, { ...query(), signal: ended.signal });

  await expect(late).rejects.toThrow('too late');
  expect((await Promise.all(searches)).map((hits) => hits.length)).toEqual([2, 2, 2, 2, 2]);
  expect(most).toBe(1);
});

it('sees what other processes write and remove', async () => {
  const bot = randomUUID();
  const [here, there] = [openIndex(), openIndex()];
  const [kept, removed, late] = [point(), point({ fileId: 'file_b' }), point()];
  const idsThere = async () => (await there.search(bot, query())).map(({ id }) => id);
  await here.write(bot, [kept, removed]);
  await expect(idsThere()).resolves.toHaveLength(2);

  await here.removeFile(bot, 'file_b', null);
  await here.write(bot, [late]);

  expect(new Set(await idsThere())).toEqual(new Set([kept.id, late.id]));
  await here.dropTenant(bot);
  await expect(idsThere()).resolves.toEqual([]);
  await here.write(bot, [late]);
  await expect(idsThere()).resolves.toEqual([late.id]);
});

it('reads only what changed since its last search', async () => {
  const bot = randomUUID();
  const repository = new LocalIndexRepository(test.database);
  const index = new LocalIndex({ repository, embedder: testEmbedder });
  await index.write(bot, [point(), point()]);
  const { revision } = (await repository.findState(bot))!;
  const late = point();

  await index.write(bot, [late]);

  const changed: string[] = [];
  await repository.readSince(bot, testEmbedder.model, revision, async (points) => {
    changed.push(...points.map(({ id }) => id));
    return true;
  });
  expect(changed).toEqual([late.id]);
});

it('loses none of many writes and removals at once', async () => {
  const bot = randomUUID();
  const indexes = [openIndex(), openIndex(), openIndex()];
  const versions = Array.from({ length: 12 }, (_, i) => `v${i}`);

  await Promise.all(
    versions.map(async (contentVersion, i) => {
      const index = indexes[i % 3]!;
      await index.write(bot, [point({ contentVersion }), point({ contentVersion, fileId: 'file_b' })]);
      await index.search(bot, query());
      await index.removeFile(bot, 'file_b', null);
    }),
  );

  for (const index of indexes) {
    const hits = await index.search(bot, query({ limit: 50 }));
    expect(new Set(hits.map(({ contentVersion }) => contentVersion))).toEqual(new Set(versions));
    expect(hits).toHaveLength(12);
  }
});

it('counts a removal that waited for a write as newer than the write', async () => {
  const bot = randomUUID();
  const repository = new LocalIndexRepository(test.database);
  await openIndex().write(bot, [point()]);

  let removal = Promise.resolve();
  const written = await test.database.transaction(async (tx) => {
    await tx.query('SELECT 1 FROM local_index_tenant WHERE bot_id = $1 FOR UPDATE', [bot]);
    removal = openIndex().removeFile(bot, 'file_a', null);
    await until(
      () =>
        test.database.query(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        ),
      (waiting) => waiting.length > 0,
    );
    const [row] = await tx.query<{ revision: string }>(
      "UPDATE local_index_tenant SET revision = nextval('local_index_revision') WHERE bot_id = $1 RETURNING revision",
      [bot],
    );
    return Number(row!.revision);
  });
  await removal;

  const { revision, removedRevision } = (await repository.findState(bot))!;
  expect(removedRevision).toBeGreaterThan(written);
  expect(revision).toBe(removedRevision);
});

it('leaves vectors of another model unseen, and erases them with the bot', async () => {
  const bot = randomUUID();
  await openIndex({ model: 'former' }).write(bot, [point()]);

  const index = openIndex();

  await expect(index.search(bot, query())).resolves.toEqual([]);
  await expect(index.count(bot)).resolves.toBe(1);
  await index.dropTenant(bot);
  await expect(index.count(bot)).resolves.toBe(0);
});

it('comes back to memory when a bot that had too many points has few again', async () => {
  const bot = randomUUID();
  const index = openIndex({ cacheMb: 0.01 });
  const few = point({ fileId: 'file_small' });
  await index.write(bot, [few, ...Array.from({ length: 40 }, () => point())]);
  await expect(index.search(bot, query({ limit: 50 }))).resolves.toHaveLength(41);

  await index.removeFile(bot, 'file_a', null);

  await expect(index.search(bot, query())).resolves.toMatchObject([{ id: few.id }]);
});

it('lets other work in while it searches a large bot', async () => {
  const bot = randomUUID();
  const index = openIndex();
  const text = 'some forty words '.repeat(14);
  for (let i = 0; i < 20; i++) {
    await index.write(
      bot,
      Array.from({ length: 2000 }, () => point({ text })),
    );
  }
  await index.search(bot, query());

  const shares: number[] = [];
  for (let i = 0; i < 20; i++) shares.push(await longestBlock(() => index.search(bot, query({ text }))));

  // A busy machine may hold up one search, not all of them.
  expect(Math.min(...shares)).toBeLessThan(0.55);
});

/** The longest time for which the event loop did not turn, as a share of the time that the work took. */
async function longestBlock(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  let last = started;
  let longest = 0;
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  const timer = setInterval(tick, 1);
  await work();
  tick();
  clearInterval(timer);
  return longest / (last - started);
}
