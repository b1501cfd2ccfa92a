import { columnsOf } from '../schema/columns';
import { RowValidator } from '../schema/row-validator';
import { createSchema } from '../schema/table-schema';
import { ImportJobService } from './import-job.service';
import { UnreadableFile } from './read-row';

const { schema } = createSchema({ n: 1 });
const columns = columnsOf({ number: '36', schema });
const table = {
  ...{ bot_id: 'bot', id: 'table', name: 'table', number: '36', version: 1, factor: 1, columns, key_column: 'n' },
  validator: new RowValidator({ number: '36', schema, factor: 1 }),
};
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_entry, index) => from + index);

interface Course {
  /** Rows of the file that an earlier process has stored. */
  position?: number;
  version?: string;
  /** Number of the statement that finds another version of the table. */
  changedAt?: number;
  /** Numbers whose key is taken. */
  taken?: number[];
}

/** Import of a file with a line for each of these texts. */
async function importOf(lines: (string | number)[], { position = 0, version = 'v1', changedAt, taken = [] }: Course) {
  const stored: number[][] = [];
  const steps: { position: number; rows: number; failedRows: number; errors: string[] }[] = [];
  let statements = 0;
  const insertRows = (_tx: unknown, _table: unknown, rows: { json: string }[]) => {
    statements += 1;
    if (statements === changedAt) return Promise.resolve();
    const values = rows.map(({ json }) => Object.values(JSON.parse(json) as Record<string, number>)[0]!);
    stored.push(values.filter((value) => !taken.includes(value)));
    return Promise.resolve({ ids: values.map((value) => (taken.includes(value) ? undefined : value)) });
  };
  const open = () => {
    const response = new Response(`n\n${lines.join('\n')}\n`);
    return Promise.resolve({ response, contentType: 'text/csv', sizeBytes: 1_000, version: 'v1' });
  };
  const jobs = new ImportJobService(
    { transaction: (work: (tx: object) => Promise<unknown>) => work({}) } as never,
    { current: () => Promise.resolve(table), forget: () => undefined } as never,
    { insertRows } as never,
    { open } as never,
    {} as never,
  );
  const lease = {
    progress: 0,
    signal: new AbortController().signal,
    advance: (_tx: unknown, step: (typeof steps)[0]) => Promise.resolve(void steps.push(step)),
  };
  const task = { type: 'import', caller: {}, fileId: 'file', contentVersion: version };
  await jobs.run({ id: 'job', bot_id: 'bot', table_id: 'table', position, task } as never, lease as never);
  return { stored, steps };
}

it('continues behind the rows that an earlier process has stored', async () => {
  const { stored, steps } = await importOf(numbers(1, 5), { position: 3 });

  expect(stored).toEqual([[4, 5]]);
  expect(steps.map(({ position }) => position)).toEqual([5]);
});

it('reads the rest of the file for the new columns when the table has changed meanwhile', async () => {
  const { stored, steps } = await importOf(numbers(1, 1_500), { changedAt: 2 });

  expect(stored).toEqual([numbers(1, 1_000), numbers(1_001, 1_500)]);
  expect(steps.map(({ position }) => position)).toEqual([1_000, 1_500]);
});

it('stores 1,000 rows at once, counts invalid rows and taken keys, and reports the first hundred', async () => {
  const lines = [...numbers(1, 1_001), ...Array<string>(120).fill('x')];

  const { steps } = await importOf(lines, { taken: [2, 1_001] });

  expect(steps.map(({ position, rows, failedRows }) => ({ position, rows, failedRows }))).toEqual([
    { position: 1_000, rows: 999, failedRows: 1 },
    { position: 1_121, rows: 0, failedRows: 121 },
  ]);
  expect(steps[0]!.errors).toEqual([expect.stringContaining('another row has the same n, which must be unique')]);
  expect(steps[1]!.errors).toHaveLength(100);
});

it('fails when the file was replaced since an earlier process read it', async () => {
  await expect(importOf([1], { version: 'v0' })).rejects.toEqual(expect.any(UnreadableFile));
});
