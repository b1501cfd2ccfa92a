import { pagesOf, sentDuring } from '@parley/testing/sent-statements';
import type { Transaction } from '@parley/persistence/database';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { adminDatabase } from '../../admin.module';
import type { UsageSubject } from './usage.entity';
import { UsageRepository } from './usage.repository';

const days = 730;
const months = 24;
const bots = 10;
/** Limit of index pages per bot: two lookups of a few pages each. The days of one type fill more than 1,000 pages. */
const mostPagesOfBot = 20;

const workspace: UsageSubject = { id: 'w', workspace_id: 'w', bot_id: '' };
const bot: UsageSubject = { id: 'bot_4', workspace_id: 'w', bot_id: 'bot_4' };

let test: TestDatabase;
let usage: UsageRepository;

/**
 * Usage of two years: each day every bot has one more of both types, and usage without a bot stays at one. Thus the
 * value at the end of a month is the number of days so far. Rows of another workspace lie in between.
 */
beforeAll(async () => {
  test = await createTestDatabase(adminDatabase.migrations, 'admin');
  usage = new UsageRepository(test.database);
  await test.database.query(`INSERT INTO account (id, email) VALUES ('a', 'a@example.com')`);
  await test.database.query(
    `INSERT INTO workspace (id, name, owner_id) SELECT id, id, 'a' FROM unnest('{w,x}'::text[]) id`,
  );
  await test.database.query(
    `INSERT INTO usage (workspace_id, bot_id, type, day, value, changed_at)
     SELECT CASE WHEN i <= $2::int THEN 'w' ELSE 'x' END, CASE i WHEN 0 THEN '' ELSE 'bot_' || i END, type,
       to_char(date '2022-01-01' + d, 'YYYY-MM-DD'), CASE i WHEN 0 THEN 1 ELSE d END, date '2022-01-01' + d
     FROM generate_series(1, $1::int) AS d, generate_series(0, 6 * $2::int) AS i,
       unnest('{storage_count,invocation_calls}'::text[]) AS type`,
    [days, bots],
  );
});

afterAll(() => test?.drop());

describe.each(['before the first ANALYZE', 'after it'])('usage of two years, %s', (when) => {
  beforeAll(async () => {
    if (when === 'after it') await test.database.query('ANALYZE');
  });

  async function read<T>(ask: () => Promise<T>): Promise<{ result: T; pages: number }> {
    let result: T;
    const sent = await sentDuring(async () => (result = await ask()));
    return { result: result!, pages: await pagesOf(test.database, sent) };
  }

  /** Rows that the work writes, which is rolled back, and the pages that it reads, without those of foreign keys. */
  async function change(work: (tx: Transaction) => Promise<void>) {
    let changed: unknown[] = [];
    const undone = new Error('undone');
    const sent = await sentDuring(() =>
      test.database
        .transaction(async (tx) => {
          await work(tx);
          changed = await tx.query(
            `SELECT workspace_id, type, value FROM usage WHERE bot_id = 'bot_4' AND day > '2024-02' ORDER BY 1`,
          );
          throw undone;
        })
        .catch((error: unknown) => {
          if (error !== undone) throw error;
        }),
    );
    const writing = sent.filter(({ text }) => /^\s*(INSERT|UPDATE)/.test(text));
    return { changed, pages: await pagesOf(test.database, writing) };
  }

  it.each([
    ['2023-12', 'storage_count', days - 1, 1],
    ['2023-02', 'storage_count', 424 - 1, 1],
    ['2023-02', 'invocation_calls', 424 - 1, 1],
    ['2024-03', 'storage_count', days, 1],
    ['2024-03', 'invocation_calls', 0, 0],
    ['2021-12', 'storage_count', 0, 0],
  ] as const)('reads only the last day of each bot in %s: %s', async (period, type, ofBot, ofNone) => {
    const all = await read(() => usage.listAmounts([workspace], [type], period));
    const one = await read(() => usage.listAmounts([bot], [type], period));
    const byBot = await read(() => usage.listByBot('w', type, period));

    expect(all.result).toEqual([{ id: 'w', type, value: bots * ofBot + ofNone }]);
    expect(one.result).toEqual([{ id: 'bot_4', type, value: ofBot }]);
    expect(byBot.result.map(({ value }) => value)).toEqual(Array.from({ length: ofBot ? bots : 0 }, () => ofBot));
    expect(all.pages).toBeLessThan((bots + 2) * mostPagesOfBot);
    expect(one.pages).toBeLessThan(mostPagesOfBot);
    expect(byBot.pages).toBeLessThan((bots + 2) * mostPagesOfBot);
  });

  it.each(['storage_count', 'invocation_calls'] as const)(
    'sums daily usage of two years per month: %s',
    async (type) => {
      const all = await read(() => usage.listHistory(workspace, type, '2024-03'));
      const one = await read(() => usage.listHistory(bot, type, '2024-03'));

      const now = type === 'storage_count' ? days : 0;
      expect(one.result.slice(0, 3)).toEqual([
        { period: '2024-03', value: now },
        { period: '2024-01', value: days },
        { period: '2023-12', value: days - 1 },
      ]);
      expect(one.result).toHaveLength(months + 2);
      expect(all.result.map(({ period }) => period)).toEqual(one.result.map(({ period }) => period));
      expect(all.result.slice(1).map(({ value }) => value)).toEqual(
        one.result.slice(1).map(({ value }) => bots * value + 1),
      );
      expect(all.pages).toBeLessThan((months + 2) * (bots + 3) * mostPagesOfBot);
      expect(one.pages).toBeLessThan((months + 2) * 2 * mostPagesOfBot);
    },
  );

  it('ends usage with a deleted bot, and moves it with a transferred one, by the last day of each type', async () => {
    const end = await change((tx) => usage.endUsageOfBot(tx, 'bot_4', 'w'));
    const move = await change((tx) => usage.moveUsageOfBot(tx, 'bot_4', 'w', 'x'));

    expect(end.changed).toEqual([{ workspace_id: 'w', type: 'storage_count', value: 0 }]);
    expect(move.changed).toEqual([
      { workspace_id: 'w', type: 'storage_count', value: 0 },
      { workspace_id: 'x', type: 'storage_count', value: days },
    ]);
    expect(end.pages).toBeLessThan(150);
  });
});
