import { KeyCounts } from './key-counts';

it('counts by key, and forgets a key at zero', () => {
  const counts = new KeyCounts();
  counts.add('a', 2);
  counts.add('b', 1);
  counts.add('a', -1);
  counts.add('b', -1);

  expect([counts.count('a'), counts.count('b'), counts.count('c')]).toEqual([1, 0, 0]);
  expect([...counts.keys()]).toEqual(['a']);
});
