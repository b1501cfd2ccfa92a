import type { ColumnKind, ShownColumn } from './columns';
import { type Condition, type Filter, readFilter, toApiFilter } from './filter';

const kinds: Record<string, ColumnKind> = { name: 'text', length: 'number', isFerry: 'boolean', cargo: 'json' };
const columns = Object.entries(kinds).map(([name, kind]): ShownColumn => {
  return { name, kind, isReadOnly: false, isComputed: false, isSearchable: false };
});

function filterOf(match: Filter['match'], ...conditions: [column: string, operator: string, text: string][]) {
  const all = conditions.map(([column, operator, text]): Condition => ({ column, operator, text }));
  return toApiFilter({ match, conditions: all }, columns);
}

describe('the filter builder', () => {
  it('combines typed conditions with $and or $or', () => {
    const conditions = [
      ['length', 'atLeast', '20'],
      ['isFerry', 'equals', 'false'],
    ] as [string, string, string][];

    expect(filterOf('all', ...conditions)).toEqual({ $and: [{ length: { $gte: 20 } }, { isFerry: { $eq: false } }] });
    expect(filterOf('any', ...conditions)).toEqual({ $or: [{ length: { $gte: 20 } }, { isFerry: { $eq: false } }] });
  });

  it('filters for a text as it is written, whatever it means in a regular expression', () => {
    expect(filterOf('all', ['name', 'contains', 'a.b (c)'])).toEqual({
      $and: [{ name: { $regex: 'a\\.b \\(c\\)', $options: 'i' } }],
    });
  });

  it('makes no filter of conditions without a text, of unknown columns or with operators of other types', () => {
    expect(filterOf('all', ['length', 'less', ''], ['gone', 'exists', ''], ['cargo', 'equals', '1'])).toBeUndefined();
    expect(filterOf('all', ['cargo', 'missing', ''])).toEqual({ $and: [{ cargo: { $exists: false } }] });
  });

  it('refuses a text in a filter that the column cannot have', () => {
    expect(() => filterOf('all', ['length', 'equals', 'long'])).toThrow('Write a number');
  });

  it('reads the filter of an address, and none from one that was edited', () => {
    const filter: Filter = { match: 'any', conditions: [{ column: 'name', operator: 'exists', text: '' }] };

    expect(readFilter(JSON.stringify(filter))).toEqual(filter);
    expect(readFilter('{"match":')).toEqual({ match: 'all', conditions: [] });
    expect(readFilter('[]')).toEqual({ match: 'all', conditions: [] });
    expect(readFilter('null')).toEqual({ match: 'all', conditions: [] });
    expect(readFilter('{"conditions":[1]}')).toEqual({ match: 'all', conditions: [] });
  });
});
