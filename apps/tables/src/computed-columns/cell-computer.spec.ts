import { Completions } from '@parley/openai/completions';
import { CompletionServer } from '@parley/testing/completion-server';
import { TablesConfig } from '../config';
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
const cells = new CellComputerService(sandbox, new Completions(new TablesConfig()));

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

it.each([401, 429, 500])(
  'hides the error message of a completion server that answers %d after the last retry',
  async (status) => {
    const server = await CompletionServer.start();
    server.answer = () => ({ status, message: 'your key is wrong' });
    const asking = new Completions(Object.assign(new TablesConfig(), { completionsUrl: server.url }));
    const computed = { action: 'ai', prompt: '?', dependencies: ['note'] };
    const asked = { ...definition, schema: withColumn({ type: 'string', 'x-zui': { index: 0, computed } }) };
    const ofModel = cached(asked);
    const compute = (pauses: number) =>
      new CellComputerService(sandbox, asking).compute(ofModel, none, row, pauses, new AbortController().signal);

    const [first, last] = [await compute(0), await compute(5)];
    await server.stop();

    expect(first.obstacle?.message).toContain('your key is wrong');
    expect(last.obstacle).toBeUndefined();
    expect(last.row.computed[key]).toMatchObject({
      status: 'failed',
      error:
        'The completion server did not answer after several attempts. The log of the tables service has the reason.',
    });
  },
);
