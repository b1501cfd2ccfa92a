import { randomUUID } from 'node:crypto';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import type { Migration } from '@parley/persistence/service-schema';
import { waitFor } from '@parley/testing/wait-for';
import { documentTerms } from './lexicon';
import { LocalIndex, type LocalIndexOptions } from './local-index';
import { localIndexEntities } from './local-index.entity';
import { LocalIndexBlocks1797250000000 } from './migrations/1797250000000-local-index-blocks';
import { localIndexTables1795392000000 } from './migrations/1795392000000-local-index-tables';
import { LocalIndexRepository } from './local-index.repository';
import { ScanThread } from './scan-thread';
import { describeLargePassageIndex } from './test/large-index.behaviour';
import { describePassageIndex, point, query, testEmbedder } from './test/passage-index.behaviour';

/** First version of the schema. */
class LocalIndexTables1795392000000 implements Migration {
  async up(runner: Parameters<Migration['up']>[0]): Promise<void> {
    await runner.query(localIndexTables1795392000000);
  }
}

let test: TestDatabase;
const opened: LocalIndex[] = [];
const open = (options: Omit<LocalIndexOptions, 'repository'> & Partial<LocalIndexOptions>) => {
  const index = new LocalIndex({ repository: new LocalIndexRepository(test.database), ...options });
  opened.push(index);
  return index;
};
const openIndex = ({ model = testEmbedder.model, cacheMb }: { cacheMb?: number; model?: string } = {}) =>
  open({ embedder: { ...testEmbedder, model }, cacheMb });

beforeAll(async () => {
  const migrations = [LocalIndexTables1795392000000, LocalIndexBlocks1797250000000];
  test = await createTestDatabase(migrations, 'files', localIndexEntities);
});
afterAll(async () => {
  await Promise.all(opened.map((index) => index.close()));
  await test.drop();
});

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

describe('with many points', () => {
  const dimensions = 16;
  let index: LocalIndex;
  beforeAll(() => {
    index = open({ embedder: { model: 'large', dimensions }, cacheMb: 64 });
  });

  describeLargePassageIndex({ open: () => index, points: 2_000, dimensions, perFile: 40 });
});

it('aborts a search of more points than fit into memory, and runs one such search at a time', async () => {
  const bot = randomUUID();
  const repository = new LocalIndexRepository(test.database);
  let [underWay, most] = [0, 0];
  const readSince = repository.readPointsSince.bind(repository);
  repository.readPointsSince = async (...args) => {
    most = Math.max(most, ++underWay);
    await readSince(...args).finally(() => underWay--);
  };
  const index = open({ repository, embedder: testEmbedder, cacheMb: 0.0003 });
  await index.write(bot, [point(), point()]);
  const ended = new AbortController();
  ended.abort(new Error('too late'));

  const searches = Array.from({ length: 5 }, () => index.search(bot, query()));
  const late = index.search(bot, { ...query(), signal: ended.signal });

  await expect(late).rejects.toThrow('too late');
  expect((await Promise.all(searches)).map((hits) => hits.length)).toEqual([2, 2, 2, 2, 2]);
  expect(most).toBe(1);
});

it('sees writes and removals of other processes', async () => {
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

it('keeps the revision after a removal without matches, so that no process reloads its ids', async () => {
  const bot = randomUUID();
  const repository = new LocalIndexRepository(test.database);
  const index = openIndex();
  await index.write(bot, [point({ contentVersion: 'v2' })]);
  const state = await repository.findTenantState(bot);

  await index.removeFile(bot, 'file_a', 'v2');
  await index.removeFiles(bot, ['file_unknown']);
  await index.dropModel(bot, { model: 'former', dimensions: 3 });

  expect(await repository.findTenantState(bot)).toEqual(state);
});

it.each<[string, (index: LocalIndex, bot: string) => Promise<void>]>([
  ['of a file', (index, bot) => index.removeFile(bot, 'file_b', null)],
  ['of the other versions of a file', (index, bot) => index.removeFile(bot, 'file_b', 'v2')],
  ['of files', (index, bot) => index.removeFiles(bot, ['file_b'])],
])('shows a removal %s to another process that holds the points in memory', async (_what, remove) => {
  const bot = randomUUID();
  const [here, there] = [openIndex(), openIndex()];
  const [kept, removed] = [point(), point({ fileId: 'file_b' })];
  await here.write(bot, [kept, removed]);
  await expect(there.search(bot, query())).resolves.toHaveLength(2);

  await remove(here, bot);

  await expect(there.search(bot, query())).resolves.toMatchObject([{ id: kept.id }]);
});

it('reads only the changes since its last search', async () => {
  const bot = randomUUID();
  const repository = new LocalIndexRepository(test.database);
  const index = open({ repository, embedder: testEmbedder });
  await index.write(bot, [point(), point()]);
  const { revision } = (await repository.findTenantState(bot))!;
  const late = point();

  await index.write(bot, [late]);

  const changed: string[] = [];
  await repository.readPointsSince({ botId: bot, model: testEmbedder.model }, revision, async (points) => {
    changed.push(...points.map(({ id }) => id));
    return true;
  });
  expect(changed).toEqual([late.id]);
});

it('reads a bot once for concurrent first searches, even when all callers have aborted', async () => {
  const bot = randomUUID();
  const repository = new LocalIndexRepository(test.database);
  let reads = 0;
  const readSince = repository.readPointsSince.bind(repository);
  repository.readPointsSince = async (...args) => {
    reads++;
    await readSince(...args);
  };
  const index = open({ repository, embedder: testEmbedder });
  await index.write(
    bot,
    Array.from({ length: 1_200 }, () => point()),
  );
  const left = new AbortController();

  const first = index.search(bot, { ...query(), signal: left.signal }).catch(() => []);
  const second = index.search(bot, query({ limit: 50 }));
  await waitFor(
    () => reads,
    (begun) => begun > 0,
  );
  left.abort();

  await expect(second).resolves.toHaveLength(50);
  await first;
  await expect(index.search(bot, query({ limit: 50 }))).resolves.toHaveLength(50);
  expect(reads).toBe(1);
});

it('keeps all of many concurrent writes and removals', async () => {
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

it('returns the same hits from memory and from the database after any writes, retags and removals', async () => {
  const bot = randomUUID();
  const [inMemory, stored] = [openIndex(), openIndex({ cacheMb: 0.0003 })];
  const words = ['ship', 'quay', 'tide', 'harbour', 'crane'];
  const any = <T>(items: T[]) => items[Math.floor(Math.random() * items.length)]!;
  // Unique scores: ties are ordered by arrival.
  const anyTerms = () => {
    const { indices } = documentTerms(`${any(words)} ${any(words)} ${any(words)}`);
    return { indices, values: indices.map(() => Math.random()) };
  };
  const anyPoint = (overrides: Parameters<typeof point>[0]) =>
    point({
      fileId: `file_${Math.floor(Math.random() * 8)}`,
      terms: anyTerms(),
      vector: Float32Array.of(Math.random(), Math.random(), Math.random()),
      tags: { kind: any(['a', 'b']) },
      ...overrides,
    });
  const fresh = (count: number) => Array.from({ length: count }, () => anyPoint({}));
  const written = fresh(700);
  const steps = [
    () => inMemory.write(bot, written),
    ...Array.from({ length: 8 }, () => () => inMemory.write(bot, fresh(20))),
    () =>
      stored.write(
        bot,
        written.slice(0, 400).map(({ id }) => anyPoint({ id })),
      ),
    () => stored.retag(bot, 'file_1', { kind: 'c' }),
    ...[2, 3, 4, 5, 6].map((n) => () => stored.removeFile(bot, `file_${n}`, null)),
    () => inMemory.write(bot, fresh(30)),
  ];
  const found = async (index: LocalIndex, overrides: Parameters<typeof query>[0]) =>
    (await index.search(bot, query(overrides))).map(({ id, score }) => ({ id, score: score.toFixed(12) }));

  for (const step of steps) {
    await step();
    for (const kind of ['a', 'c', undefined]) {
      const question = {
        text: `${any(words)} ${any(words)}`,
        vector: Float32Array.of(Math.random(), Math.random(), Math.random()),
        tags: kind ? { kind: { in: [kind], notIn: [] } } : undefined,
        limit: 50,
      };
      expect(await found(inMemory, question)).toEqual(await found(stored, question));
    }
  }

  expect(await inMemory.count(bot)).toBeGreaterThan(100);
});

it('gives a removal that waited for a write a higher revision than the write', async () => {
  const bot = randomUUID();
  const repository = new LocalIndexRepository(test.database);
  await openIndex().write(bot, [point()]);

  let removal = Promise.resolve();
  const written = await test.database.transaction(async (tx) => {
    await tx.query('SELECT 1 FROM local_index_tenant WHERE bot_id = $1 FOR UPDATE', [bot]);
    removal = openIndex().removeFile(bot, 'file_a', null);
    await waitFor(
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

  const { revision, removedRevision } = (await repository.findTenantState(bot))!;
  expect(removedRevision).toBeGreaterThan(written);
  expect(revision).toBe(removedRevision);
});

it('ignores vectors of another model, and deletes them with the bot', async () => {
  const bot = randomUUID();
  await openIndex({ model: 'former' }).write(bot, [point()]);

  const index = openIndex();

  await expect(index.search(bot, query())).resolves.toEqual([]);
  await expect(index.count(bot)).resolves.toBe(1);
  await index.dropTenant(bot);
  await expect(index.count(bot)).resolves.toBe(0);
});

it('keeps points of two models, and removes them together or per model', async () => {
  const bot = randomUUID();
  const [now, next] = [openIndex(), openIndex({ model: 'next' })];
  const [kept, removed] = [point(), point({ fileId: 'file_b' })];
  await now.write(bot, [kept, removed]);
  await next.write(bot, [kept, removed]);
  const ids = async (index: LocalIndex) => (await index.search(bot, query())).map(({ id }) => id);
  expect(await Promise.all([now, next].map(ids))).toEqual([expect.any(Array), expect.any(Array)]);
  expect(await now.count(bot)).toBe(4);

  await now.removeFile(bot, 'file_b', null);

  expect(await Promise.all([now, next].map(ids))).toEqual([[kept.id], [kept.id]]);
  await next.dropModel(bot, testEmbedder);
  expect(await next.count(bot)).toBe(1);
  expect(await Promise.all([now, next].map(ids))).toEqual([[], [kept.id]]);
});

it('writes in the transaction of the caller, and rolls back with it', async () => {
  const bot = randomUUID();
  const index = openIndex();

  const undone = test.database.transaction(async (tx) => {
    await index.write(bot, [point()], tx);
    throw new Error('no');
  });

  await expect(undone).rejects.toThrow('no');
  expect(await index.count(bot)).toBe(0);
});

it('caches a bot again after it had too many points and has few', async () => {
  const bot = randomUUID();
  const index = openIndex({ cacheMb: 0.005 });
  const few = point({ fileId: 'file_small' });
  await index.write(bot, [few, ...Array.from({ length: 40 }, () => point())]);
  await expect(index.search(bot, query({ limit: 50 }))).resolves.toHaveLength(41);

  await index.removeFile(bot, 'file_a', null);

  await expect(index.search(bot, query())).resolves.toMatchObject([{ id: few.id }]);
});

it('yields to the event loop while it searches a large bot', async () => {
  const bot = randomUUID();
  const repository = new LocalIndexRepository(test.database);
  const index = open({ repository, embedder: testEmbedder });
  const text = Array.from({ length: 300 }, (_, n) => `word${n}`).join(' ');
  const terms = documentTerms(text);
  for (let i = 0; i < 6; i++) {
    await index.write(
      bot,
      Array.from({ length: 2000 }, () => point({ terms })),
    );
  }
  await index.search(bot, query());

  // The points are cached: once their state is read, the search waits only in its own pauses.
  let turns = 0;
  const findState = repository.findTenantState.bind(repository);
  repository.findTenantState = async (botId) => {
    const state = await findState(botId);
    turns = 0;
    return state;
  };
  const turning = setInterval(() => (turns += 1), 0);
  await index.search(bot, query({ text }));
  clearInterval(turning);

  expect(turns).toBeGreaterThan(0);
});

describe('with stored blocks', () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, n) =>
      point({
        fileId: `file_${n % 30}`,
        text: `ship number${n}`,
        vector: Float32Array.of(Math.random(), Math.random(), Math.random()),
      }),
    );
  const found = async (index: LocalIndex, bot: string) =>
    new Map((await index.search(bot, query({ text: 'number7 number8', limit: 5_000 }))).map((hit) => [hit.id, hit]));
  const blocksOf = (bot: string) =>
    test.database.query<{ id: string; revision: string }>(
      'SELECT id, revision FROM local_index_block WHERE bot_id = $1 ORDER BY id',
      [bot],
    );
  /** Stores blocks, as after a search that saw many changes. */
  const store = async (bot: string) => {
    const index = openIndex();
    await index.search(bot, query());
    await index.close();
  };
  /** Index of a process that has just started, and the ids that it read one by one. */
  const started = () => {
    const repository = new LocalIndexRepository(test.database);
    const read: string[] = [];
    const readSince = repository.readPointsSince.bind(repository);
    repository.readPointsSince = (points, revision, take) =>
      readSince(points, revision, (rows) => {
        read.push(...rows.map(({ id }) => id));
        return take(rows);
      });
    return { index: open({ repository, embedder: testEmbedder }), read };
  };

  it('reads blocks after a start instead of points', async () => {
    const bot = randomUUID();
    const writer = openIndex();
    await writer.write(bot, many(2_500));
    const before = await found(writer, bot);
    await writer.close();

    const { index, read } = started();

    expect(await found(index, bot)).toEqual(before);
    expect([before.size, read]).toEqual([2_500, []]);
  });

  it('stores no blocks of a bot with few changes', async () => {
    const bot = randomUUID();
    await openIndex().write(bot, many(50));

    await store(bot);

    expect(await blocksOf(bot)).toEqual([]);
  });

  it('sees all changes since the blocks were stored', async () => {
    const bot = randomUUID();
    const [points, late] = [many(2_500), point()];
    const writer = openIndex();
    await writer.write(bot, points);
    await store(bot);
    const moved = { ...points[31]!, vector: Float32Array.of(0, 0, 1), contentVersion: 'v2' };

    await writer.write(bot, [late, moved]);
    await writer.removeFile(bot, 'file_0', null);
    await writer.retag(bot, 'file_2', { kind: 'new' });

    const { index, read } = started();
    const hits = await found(index, bot);
    const living = points.filter(({ fileId }) => fileId !== 'file_0').map(({ id }) => id);
    expect([...hits.keys()].sort()).toEqual([...living, late.id].sort());
    expect(hits.get(moved.id)).toMatchObject({ contentVersion: 'v2' });
    const tagged = await index.search(bot, query({ limit: 5_000, tags: { kind: { in: ['new'], notIn: [] } } }));
    expect(tagged.map(({ fileId }) => fileId)).toEqual(Array.from({ length: 84 }, () => 'file_2'));
    expect(read.length).toBe(2 + 84);
  });

  it('stores only what is new, and which points are gone', async () => {
    const bot = randomUUID();
    const index = openIndex();
    await index.write(bot, many(4_096));
    await index.search(bot, query());
    const [first, ...none] = await waitFor(
      () => blocksOf(bot),
      (blocks) => blocks.length > 0,
    );
    await index.removeFiles(bot, ['file_0', 'file_1']);
    await index.write(bot, many(2_500));
    const before = await found(index, bot);
    await waitFor(
      () => blocksOf(bot),
      (blocks) => blocks.length > 1 && blocks.every(({ revision }) => revision !== first!.revision),
    );

    const ids = (await blocksOf(bot)).map(({ id }) => id);
    const { index: next, read } = started();

    expect(none).toEqual([]);
    expect(ids).toContain(first!.id);
    expect(await found(next, bot)).toEqual(before);
    expect(read).toEqual([]);
  });

  it('keeps the blocks whole when processes store them at the same time', async () => {
    const bot = randomUUID();
    await openIndex().write(bot, many(3_000));

    await Promise.all([store(bot), store(bot), store(bot)]);
    await openIndex().write(bot, many(3_000));
    await Promise.all([store(bot), store(bot)]);

    const { index, read } = started();
    expect((await found(index, bot)).size).toBe(5_000);
    await expect(index.count(bot)).resolves.toBe(6_000);
    expect(new Set((await blocksOf(bot)).map(({ revision }) => revision)).size).toBe(1);
    expect(read.length).toBeLessThan(3_000);
  });

  it('removes the blocks of an erased bot, also while they are stored', async () => {
    const [bot, other] = [randomUUID(), randomUUID()];
    const repository = new LocalIndexRepository(test.database);
    const index = open({ repository, embedder: testEmbedder });
    await index.write(bot, many(2_500));
    await index.write(other, many(2_500));
    await store(other);
    let erased = Promise.resolve();
    const storeBlocks = repository.storeBlocks.bind(repository);
    repository.storeBlocks = (points, blocks, read) =>
      storeBlocks(points, blocks, (id) => {
        erased = openIndex().dropTenant(bot);
        return read(id);
      });

    await index.search(bot, query());
    await index.close();
    await erased;

    await expect(blocksOf(bot)).resolves.toEqual([]);
    await expect(blocksOf(other)).resolves.toHaveLength(1);
  });

  it('stores nothing of a bot that was erased before', async () => {
    const bot = randomUUID();
    const repository = new LocalIndexRepository(test.database);
    const warnings: string[] = [];
    const health = { warn: (message: string) => void warnings.push(message) };
    const index = open({ repository, embedder: testEmbedder, health });
    await index.write(bot, many(2_500));
    const storeBlocks = repository.storeBlocks.bind(repository);
    repository.storeBlocks = async (...input) => {
      await openIndex().dropTenant(bot);
      await storeBlocks(...input);
    };

    await index.search(bot, query());
    await index.close();

    await expect(blocksOf(bot)).resolves.toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('removes the blocks of a dropped model only', async () => {
    const bot = randomUUID();
    const former = openIndex({ model: 'former' });
    await openIndex().write(bot, many(2_500));
    await former.write(bot, many(2_500));
    await former.search(bot, query());
    await former.close();
    await store(bot);
    await expect(blocksOf(bot)).resolves.toHaveLength(2);

    await openIndex().dropModel(bot, { model: 'former', dimensions: 3 });

    await expect(blocksOf(bot)).resolves.toHaveLength(1);
    expect((await found(openIndex(), bot)).size).toBe(2_500);
  });

  it('reads the points when blocks are of another version', async () => {
    const bot = randomUUID();
    await openIndex().write(bot, many(2_500));
    await store(bot);
    await test.database.query("UPDATE local_index_block SET bytes = '\\x09000000'::bytea || bytes WHERE bot_id = $1", [
      bot,
    ]);

    const { index, read } = started();

    expect((await found(index, bot)).size).toBe(2_500);
    expect(read).toHaveLength(2_500);
  });

  it('warns when blocks cannot be stored, and searches on', async () => {
    const bot = randomUUID();
    const repository = new LocalIndexRepository(test.database);
    repository.storeBlocks = () => Promise.reject(new Error('the disk is full'));
    const warnings: [string, object?][] = [];
    const index = open({
      repository,
      embedder: testEmbedder,
      health: { warn: (...warning) => void warnings.push(warning) },
    });
    await index.write(bot, many(2_500));

    expect((await found(index, bot)).size).toBe(2_500);
    await index.close();

    expect(warnings).toMatchObject([
      ['blocks of the passage index cannot be stored', { err: { message: 'the disk is full' } }],
    ]);
  });
});

it('forgets the bot that was searched longest ago when the cache is full', async () => {
  const call = jest.spyOn(ScanThread.prototype, 'call');
  const index = openIndex({ cacheMb: 0.015 });
  const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
  for (const bot of [first, second, third])
    await index.write(
      bot,
      Array.from({ length: 30 }, () => point()),
    );
  const search = async (bot: string) => {
    call.mockClear();
    await expect(index.search(bot, query({ limit: 50 }))).resolves.toHaveLength(30);
    return call.mock.calls.map(([name]) => name);
  };

  const calls = [await search(first), await search(second), await search(first), await search(third)];
  const [kept, forgotten] = [await search(first), await search(second)];
  call.mockRestore();

  expect(calls.at(2)).toEqual(['search']);
  expect(calls.at(3)).toContain('drop');
  expect(kept).toEqual(['search']);
  expect(forgotten).toEqual(expect.arrayContaining(['add', 'search']));
});

describe('when its thread ends', () => {
  let threads: ScanThread[];
  let call: jest.SpiedFunction<ScanThread['call']>;
  beforeEach(() => {
    threads = [];
    const original = ScanThread.prototype.call;
    call = jest.spyOn(ScanThread.prototype, 'call').mockImplementation(function (this: ScanThread, ...input) {
      if (!threads.includes(this)) threads.push(this);
      return original.apply(this, input);
    });
  });
  afterEach(() => call.mockRestore());

  it('answers the next search from another one', async () => {
    const bot = randomUUID();
    const index = openIndex();
    const written = point();
    await index.write(bot, [written]);
    await index.search(bot, query());

    await threads[0]!.end();

    await expect(index.search(bot, query())).resolves.toMatchObject([{ id: written.id }]);
    expect(threads).toHaveLength(2);
  });

  it.each([0.0003, 64])('answers a search under way, with a cache of %d MB', async (cacheMb) => {
    const bot = randomUUID();
    const repository = new LocalIndexRepository(test.database);
    const index = open({ repository, embedder: testEmbedder, cacheMb });
    await index.write(bot, [point(), point()]);
    const readSince = repository.readPointsSince.bind(repository);
    let reads = 0;
    repository.readPointsSince = (points, revision, take) =>
      readSince(points, revision, async (rows) => {
        const goesOn = await take(rows);
        if (++reads === 1) await threads[0]!.end();
        return goesOn;
      });

    await expect(index.search(bot, query())).resolves.toHaveLength(2);
    expect(threads).toHaveLength(2);
  });

  it('fails a search when it ends again and again, and answers later', async () => {
    const bot = randomUUID();
    const index = openIndex();
    await index.write(bot, [point()]);
    const original = call.getMockImplementation()!;
    call.mockImplementation(async function (this: ScanThread, ...input) {
      await this.end();
      return original.apply(this, input);
    });

    await expect(index.search(bot, query())).rejects.toThrow('The thread of the passage index has ended.');
    call.mockImplementation(original);

    await expect(index.search(bot, query())).resolves.toHaveLength(1);
  });
});
