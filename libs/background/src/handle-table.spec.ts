import { HandleTable } from './handle-table';

it('finds items by handle until they are removed', () => {
  const table = new HandleTable<string>();
  const [first, second] = [table.add('one'), table.add('two')];

  table.remove(first);
  table.remove(first);

  expect([table.get(first), table.get(second), table.size]).toEqual([undefined, 'two', 1]);
  expect(table.values()).toEqual(['two']);
});

it('gives no handle twice, so that a late removal concerns no other item', () => {
  const table = new HandleTable<string>();
  const first = table.add('one');
  table.remove(first);
  const second = table.add('two');

  table.remove(first);

  expect(second).not.toBe(first);
  expect(table.get(second)).toBe('two');
});
