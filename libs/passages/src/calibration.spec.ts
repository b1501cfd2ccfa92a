import { Rejected } from '@parley/config/config';
import { bundledModel } from './bundled-embedder';
import { bundledLeastScore, calibration, fitLeastScore } from './calibration';

it.each([
  [[0.9, ...Array<number>(19).fill(0.2)], 0.201],
  [[0.9, 0.8, ...Array<number>(18).fill(0.2)], 0.801],
  [[0.5], 0.501],
  [[1], 1],
  [[], 0.001],
])('fits the least score that at most one in twenty of %j reaches: %d', (nonsense, leastScore) => {
  expect(fitLeastScore(nonsense)).toBe(leastScore);
});

it('finds a calibration of the bundled model, and of no other', () => {
  expect(bundledLeastScore(bundledModel)).toBeGreaterThan(0);
  expect(bundledLeastScore('toString')).toBeUndefined();
});

it('reads the calibration of a model whose name has any characters', () => {
  expect(calibration.read('org/model=2=0.84')).toEqual({ model: 'org/model=2', leastScore: 0.84 });
  for (const wrong of ['model', '0.5', 'model=1.2', '=0.5', 'model=-1', 'model='])
    expect(calibration.read(wrong)).toBeInstanceOf(Rejected);
});
