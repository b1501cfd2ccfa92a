import {
  BudgetUsedUp,
  ModelsAway,
  ModelsBusy,
  type ModelsClient,
  ModelsUnavailable,
} from '@parley/service/models.client';
import type { BotsRepository } from '../bots/bots.repository';
import { SandboxService } from '../sandbox/sandbox.service';
import { columnsOf } from '../schema/columns';
import { RowValidator } from '../schema/row-validator';
import { RowWriter } from '../tables/row-writer';
import type { CachedTable } from '../tables/table.cache';
import type { TableRow } from '../tables/table.entity';
import { CellComputerService } from './cell-computer.service';
import { RemoteColumns } from './remote-columns';
import type { StaleRow } from './stale-rows.repository';

const total = { type: 'number', 'x-zui': { index: 0, computed: { action: 'code', code: '1 + 1' } } };
const note = { type: 'string', 'x-zui': { index: 1 } };
const withColumn = (column: object) =>
  ({ type: 'object', properties: { total: column, note } }) as unknown as TableRow['schema'];
const schema = withColumn(total);
const definition = { number: '1', schema, factor: 1, is_compute_enabled: true } as TableRow;
const cached = (row: TableRow): CachedTable => {
  const columns = columnsOf(row);
  return { ...row, columns, validator: new RowValidator(row), writer: new RowWriter(columns.values()) };
};
const table = cached(definition);
const key = table.columns.get('total')!.key;
const time = new Date();
const row: StaleRow = {
  id: 1,
  revision: 1,
  data: {},
  computed: null,
  stale: [key],
  unindexed: false,
  created_at: time,
  updated_at: time,
};

const sandbox = new SandboxService();
afterAll(() => sandbox.onApplicationShutdown());
const none = new RemoteColumns(table, false);
const bots = { findWorkspaceId: () => Promise.resolve('wkspace') } as unknown as BotsRepository;
const cellsBy = (generate: () => Promise<string>) =>
  new CellComputerService(sandbox, { generate } as unknown as ModelsClient, bots);
const cells = cellsBy(() => Promise.resolve('an answer'));
/** Computes a column with the action `ai`, of which the request fails. */
function computeWith(failure: Error, pauses: number) {
  const computed = { action: 'ai', prompt: '?', dependencies: ['note'] };
  const asked = cached({ ...definition, schema: withColumn({ type: 'string', 'x-zui': { index: 0, computed } }) });
  return cellsBy(() => Promise.reject(failure)).compute(asked, none, row, pauses, new AbortController().signal);
}

it('rejects with the reason of an aborted signal', async () => {
  await expect(cells.compute(table, none, row, 0, AbortSignal.abort(new Error('the end')))).rejects.toThrow('the end');
});

it('reports an unexpected error in the cell, so that it blocks no other row', async () => {
  const data = { [table.columns.get('note')!.key]: () => 'what no thread takes' };

  const { row: computed } = await cells.compute(table, none, { ...row, data }, 0, new AbortController().signal);

  expect(computed.stale).toEqual([]);
  expect(computed.computed[key]).toMatchObject({
    status: 'failed',
    error: expect.stringMatching(/^The column cannot be computed: ./) as string,
  });
});

it.each([new ModelsBusy('your key is wrong', 0), new ModelsUnavailable('your key is wrong')])(
  'hides the message of providers that did not answer after the last retry: $name',
  async (failure) => {
    const [first, last] = [await computeWith(failure, 0), await computeWith(failure, 5)];

    expect(first.obstacle).toBe(failure);
    expect(last.obstacle).toBeUndefined();
    expect(last.row.computed[key]).toMatchObject({
      status: 'failed',
      error: 'The language model did not answer after several attempts. The log of the tables service has the reason.',
    });
  },
);

it('shows in the cell that a budget is used up, once calls under way have had time to end', async () => {
  const failure = new BudgetUsedUp('The budget is used up.');

  const [first, last] = [await computeWith(failure, 4), await computeWith(failure, 5)];

  expect(first).toMatchObject({ obstacle: failure, row: { stale: [key] } });
  expect(last.row.computed[key]).toMatchObject({ status: 'failed', error: 'The budget is used up.' });
});

it('waits without end while the models service is away', async () => {
  const failure = new ModelsAway('No service instance is available.');

  expect(await computeWith(failure, 1_000)).toMatchObject({ obstacle: failure, row: { stale: [key] } });
});
