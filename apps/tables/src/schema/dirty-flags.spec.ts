import type { ComputedSettings } from '@parley/contracts/tables/table-schema';
import type { TableRow } from '../tables/table.entity';
import { columnsOf } from './columns';
import { columnsToCompute, dirtyFlagsOfChange, dirtyFlagsOfNewRow } from './dirty-flags';

type Settings = { computed?: Partial<ComputedSettings>; searchable?: boolean };

function tableOf(columns: Record<string, Settings>, isComputeEnabled = true) {
  const properties = Object.fromEntries(
    Object.entries(columns).map(([name, settings], index) => [
      name,
      { type: 'string', 'x-zui': { index, ...settings } },
    ]),
  );
  const schema = { type: 'object', properties, additionalProperties: true } as unknown as TableRow['schema'];
  return { columns: columnsOf({ number: '1', schema }), is_compute_enabled: isComputeEnabled };
}

const code = (...dependencies: string[]): Settings => ({ computed: { action: 'code', code: '1', dependencies } });
const names = (table: ReturnType<typeof tableOf>, keys: string[] | null) =>
  [...table.columns.values()].filter(({ key }) => keys?.includes(key)).map(({ name }) => name);

describe('marks of a new row', () => {
  it('sets no flags of a new row in a table without computed and searchable columns', () => {
    expect(dirtyFlagsOfNewRow(tableOf({ a: {}, b: {} }))).toEqual({
      computed: null,
      stale: null,
      unindexed: false,
      work: [],
    });
  });

  it('flags every enabled computed column of a new row', () => {
    const table = tableOf({ a: {}, b: code('a'), c: { computed: { ...code().computed, enabled: false } }, d: code() });

    const { computed, stale, work } = dirtyFlagsOfNewRow(table);

    expect(names(table, stale)).toEqual(['b', 'd']);
    expect(Object.values(computed!)).toEqual([{ status: 'pending' }, { status: 'pending' }]);
    expect(Object.keys(computed!).sort()).toEqual([...stale!].sort());
    expect(work).toEqual(['compute']);
  });

  it('flags only searchable text of a new row when computing is disabled for the table', () => {
    const table = tableOf({ a: { searchable: true }, b: code('a') }, false);

    expect(dirtyFlagsOfNewRow(table)).toEqual({ computed: null, stale: null, unindexed: true, work: ['index'] });
  });
});

describe('marks of a change', () => {
  it('flags the columns that depend on the changed column, directly or indirectly', () => {
    const table = tableOf({ last: code('middle'), a: {}, middle: code('a'), b: {}, other: code('b') });

    expect(names(table, dirtyFlagsOfChange(table, ['a']).stale)).toEqual(['last', 'middle']);
    expect(names(table, dirtyFlagsOfChange(table, ['b']).stale)).toEqual(['other']);
    expect(names(table, dirtyFlagsOfChange(table, ['middle']).stale)).toEqual(['last']);
    expect(dirtyFlagsOfChange(table, ['last', 'unknown'])).toMatchObject({ stale: null, work: [] });
  });

  it('flags a column without dependencies for each change of a column that is not computed', () => {
    const table = tableOf({ a: {}, whole: code(), other: code('a') });

    expect(names(table, dirtyFlagsOfChange(table, ['a']).stale)).toEqual(['whole', 'other']);
    expect(names(table, dirtyFlagsOfChange(table, ['other']).stale)).toEqual([]);
  });

  it('terminates for columns that depend on each other', () => {
    const table = tableOf({ a: {}, b: code('a', 'c'), c: code('b') });

    expect(names(table, dirtyFlagsOfChange(table, ['a']).stale)).toEqual(['b', 'c']);
  });

  it('flags a changed searchable text, also of a computed column', () => {
    const table = tableOf({ a: {}, b: { searchable: true }, c: { ...code('a'), searchable: true } });

    expect(dirtyFlagsOfChange(table, ['b'])).toMatchObject({ unindexed: true, work: ['index'] });
    expect(dirtyFlagsOfChange(table, ['a'])).toMatchObject({ unindexed: true, work: ['compute', 'index'] });
    expect(dirtyFlagsOfChange(tableOf({ a: {}, b: { searchable: true } }), ['a'])).toMatchObject({ unindexed: false });
  });
});

describe('computed columns', () => {
  it('orders computed columns after the columns that they depend on', () => {
    const table = tableOf({ last: code('middle', 'first'), middle: code('first'), a: {}, first: code('a') });

    expect(columnsToCompute(table).map(({ name }) => name)).toEqual(['first', 'middle', 'last']);
  });

  it('lists computed columns once each when they depend on each other', () => {
    const table = tableOf({ b: code('c'), c: code('b') });

    expect(columnsToCompute(table).map(({ name }) => name)).toEqual(['c', 'b']);
  });
});
