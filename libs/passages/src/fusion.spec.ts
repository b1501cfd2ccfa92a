import { fuse } from './fusion';

const ranked = (...ids: string[]) => ids.map((id) => ({ id }));

it('adds 1 / (60 + rank) for each ranking that contains the item', () => {
  const fused = fuse([ranked('both', 'left'), ranked('right', 'other', 'both')], 10);

  expect(fused.map(({ item }) => item.id)).toEqual(['both', 'right', 'left', 'other']);
  expect(fused[0]!.score).toBeCloseTo(1 / 61 + 1 / 63, 12);
  expect(fused[1]!.score).toBeCloseTo(1 / 61, 12);
});

it('returns at most the limit and breaks ties by id', () => {
  expect(fuse([ranked('b'), ranked('a'), ranked('c')], 2).map(({ item }) => item.id)).toEqual(['a', 'b']);
});
