import { ApiError, unavailable } from '@parley/contracts/errors';
import type { Database } from '@parley/persistence/database';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import type { CachedTable } from '../tables/table.cache';
import { InsertQueueService } from './insert-queue.service';
import type { RowsRepository } from './rows.repository';

/** Statements for one table at a time: the requests after them share the next one. */
const statementsAtOnce = 2;
const megabyte = 1_000_000;

const tableOf = (version: number, number = '1') => ({ number, version }) as unknown as CachedTable;
const table = tableOf(1);
const row = (json: string, sizeBytes = json.length) => ({ json, sizeBytes });
const rows = (count: number, name = 'row') => Array.from({ length: count }, () => row(name));

/** Queue whose statements wait until `open` is called. Ids count the rows of a statement from 0. */
function heldQueue(obstacleTo: (names: string[]) => Error | undefined = () => undefined) {
  const statements: { table: string; version: number; rows: string[] }[] = [];
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const insertRows = async (_database: unknown, { number, version }: CachedTable, inserted: { json: string }[]) => {
    const names = inserted.map(({ json }) => json);
    statements.push({ table: number, version, rows: names });
    await gate;
    const obstacle = obstacleTo(names);
    if (obstacle) throw obstacle;
    return version < 0 ? undefined : { ids: inserted.map((_row, index) => index) };
  };
  const queue = new InsertQueueService({} as Database, { insertRows } as unknown as RowsRepository);
  const first = Array.from({ length: statementsAtOnce }, () => queue.insert(table, [row('first')]));
  /** Statements after the first ones, which all tests hold. */
  const later = () => statements.slice(statementsAtOnce);
  return { queue, open, first, statements, later };
}

afterEach(realClock);

it('inserts the rows of waiting requests in one statement, in their order, and returns to each its ids', async () => {
  const { queue, open, first, later } = heldQueue();
  const next = [queue.insert(table, [row('a'), row('b')]), queue.insert(table, [row('c')])];

  open();

  expect((await Promise.all(next)).map((inserted) => inserted?.ids)).toEqual([[0, 1], [2]]);
  await Promise.all(first);
  expect(later()).toEqual([{ table: '1', version: 1, rows: ['a', 'b', 'c'] }]);
});

it('gives rows of two versions of a schema a statement each', async () => {
  const { queue, open, later } = heldQueue();
  const next = [
    queue.insert(tableOf(1), [row('a'), row('b')]),
    queue.insert(tableOf(1), [row('c')]),
    queue.insert(tableOf(2), [row('d')]),
    queue.insert(tableOf(2), [row('e')]),
  ];

  open();

  expect((await Promise.all(next)).map((inserted) => inserted?.ids)).toEqual([[0, 1], [2], [0], [1]]);
  expect(later()).toEqual([
    { table: '1', version: 1, rows: ['a', 'b', 'c'] },
    { table: '1', version: 2, rows: ['d', 'e'] },
  ]);
});

it('does not wait for the statements of another table', () => {
  const { queue, later } = heldQueue();

  void queue.insert(tableOf(1, '2'), [row('other')]);

  expect(later()).toEqual([{ table: '2', version: 1, rows: ['other'] }]);
});

it.each<[what: string, requests: { json: string; sizeBytes: number }[][], sizes: number[]]>([
  ['1,000 rows', [rows(400), rows(600), rows(1)], [1_000, 1]],
  ['8 MB', [[row('a', 4 * megabyte)], [row('b', 4 * megabyte)], [row('c', 1)]], [2, 1]],
])('inserts at most %s in one statement', async (_what, requests, sizes) => {
  const { queue, open, later } = heldQueue();
  const next = requests.map((request) => queue.insert(table, request));

  open();

  await Promise.all(next);
  expect(later().map((statement) => statement.rows.length)).toEqual(sizes);
});

it('gives a request of more than 8 MB a statement of its own', async () => {
  const { queue, open, later } = heldQueue();
  const next = [row('small', 1), row('large', 9 * megabyte), row('last', 1)].map((each) => queue.insert(table, [each]));

  open();

  await Promise.all(next);
  expect(later().map((statement) => statement.rows)).toEqual([['small'], ['large'], ['last']]);
});

it('refuses a request with 503 while 128 MB wait, until they are inserted', async () => {
  const { queue, open } = heldQueue();
  const waiting = Array.from({ length: 16 }, () => queue.insert(table, [row('large', 8 * megabyte)]));

  await expect(queue.insert(table, [row('beyond', 1)])).rejects.toMatchObject({ code: 503 });

  open();
  await Promise.all(waiting);
  await expect(queue.insert(table, [row('later', 200 * megabyte)])).resolves.toEqual({ ids: [0] });
});

it('inserts the requests of a failed statement one by one, so that only the bad one fails', async () => {
  const noMoreIds = new ApiError('LimitExceeded', 'The table has used all of its row ids.');
  const { queue, open, first, later } = heldQueue((names) => (names.includes('bad') ? noMoreIds : undefined));
  const outcomes = Promise.allSettled(['one', 'bad', 'two'].map((name) => queue.insert(table, [row(name)])));

  open();

  expect(await outcomes).toEqual([
    { status: 'fulfilled', value: { ids: [0] } },
    { status: 'rejected', reason: noMoreIds },
    { status: 'fulfilled', value: { ids: [0] } },
  ]);
  await Promise.all(first);
  expect(later().map((statement) => statement.rows)).toEqual([['one', 'bad', 'two'], ['one'], ['bad'], ['two']]);
});

it.each([
  ['did not answer', unavailable('The database does not answer. Try again in a moment.')],
  ['may have committed', new ApiError('OperationTimeout', 'The change may have been committed.')],
])(
  'fails all requests of a statement when the database %s, repeats none, and inserts the next',
  async (_what, gone) => {
    let isGone = true;
    const { queue, open, first, later } = heldQueue(() => (isGone ? gone : undefined));
    const outcomes = Promise.allSettled([...first, ...['one', 'two'].map((name) => queue.insert(table, [row(name)]))]);

    open();

    expect(await outcomes).toEqual(Array(4).fill({ status: 'rejected', reason: gone }));
    expect(later().map((statement) => statement.rows)).toEqual([['one', 'two']]);
    isGone = false;
    await expect(queue.insert(table, [row('next')])).resolves.toEqual({ ids: [0] });
  },
);

it('returns nothing to the requests of a version of the table that is no longer there', async () => {
  const { queue, open } = heldQueue();
  const next = [queue.insert(tableOf(-1), [row('a')]), queue.insert(tableOf(-1), [row('b')])];

  open();

  await expect(Promise.all(next)).resolves.toEqual([undefined, undefined]);
});

it('refuses a request that has waited for 8 s with 503, and does not insert it', async () => {
  fakeClock('Date');
  const { queue, open, later } = heldQueue();
  const late = queue.insert(table, [row('late')]);
  jest.setSystemTime(Date.now() + 1);
  const timely = queue.insert(table, [row('timely')]);

  jest.setSystemTime(Date.now() + 7_999);
  open();

  await expect(late).rejects.toMatchObject({ code: 503, message: expect.stringContaining('were not inserted') });
  await expect(timely).resolves.toEqual({ ids: [0] });
  expect(later().map((statement) => statement.rows)).toEqual([['timely']]);
});
