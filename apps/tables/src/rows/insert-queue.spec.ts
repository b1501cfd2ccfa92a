import type { Database } from '@parley/persistence/database';
import type { CachedTable } from '../tables/table.cache';
import { InsertQueueService } from './insert-queue.service';
import type { RowsRepository } from './rows.repository';

/** Statements for one table at a time: the requests after them share the next one. */
const statementsAtOnce = 2;
const tableOf = (version: number) => ({ number: '1', version }) as unknown as CachedTable;
const row = (json: string) => ({ json, sizeBytes: json.length });

it('gives rows of two versions of a schema a statement each', async () => {
  const statements: { version: unknown; rows: string[] }[] = [];
  let open!: () => void;
  const gate = new Promise<void>((resolve) => (open = resolve));
  const insertRows = async (_database: unknown, { version }: CachedTable, rows: { json: string }[]) => {
    statements.push({ version, rows: rows.map(({ json }) => json) });
    await gate;
    return { ids: rows.map((_row, index) => index) };
  };
  const queue = new InsertQueueService({} as Database, { insertRows } as unknown as RowsRepository);
  const first = Array.from({ length: statementsAtOnce }, () => queue.insert(tableOf(1), [row('first')]));
  const next = [
    queue.insert(tableOf(1), [row('a'), row('b')]),
    queue.insert(tableOf(1), [row('c')]),
    queue.insert(tableOf(2), [row('d')]),
    queue.insert(tableOf(2), [row('e')]),
  ];

  open();

  expect((await Promise.all(next)).map((inserted) => inserted?.ids)).toEqual([[0, 1], [2], [0], [1]]);
  await Promise.all(first);
  expect(statements.slice(statementsAtOnce)).toEqual([
    { version: 1, rows: ['a', 'b', 'c'] },
    { version: 2, rows: ['d', 'e'] },
  ]);
});
