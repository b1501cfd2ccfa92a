import { type Scaling, wantedReplicas } from './wanted-replicas';

const scaling: Scaling = { lagThreshold: 20, min: 1, max: 5, pollingSeconds: 15, scaleDownAfterSeconds: 60 };

const replicas = (...lags: number[]) =>
  wantedReplicas(
    lags.map((lag, place) => ({ atSeconds: 15 * place, lag })),
    scaling,
  ).map((decision) => decision.replicas);

it('wants a worker for each part of the lag, within the bounds', () => {
  expect(replicas(0, 1, 20, 21, 80, 1_000)).toEqual([1, 1, 1, 2, 4, 5]);
});

it('wants fewer workers only when no more were wanted for long enough', () => {
  expect(replicas(60, 0, 0, 0, 0, 30, 0)).toEqual([3, 3, 3, 3, 1, 2, 2]);
});

it('looks at the lag when it polls, and not in between', () => {
  const lags = [0, 14, 16].map((atSeconds) => ({ atSeconds, lag: atSeconds === 14 ? 1_000 : 0 }));

  expect(wantedReplicas(lags, scaling)).toEqual([
    { atSeconds: 0, lag: 0, replicas: 1 },
    { atSeconds: 15, lag: 1_000, replicas: 5 },
  ]);
});

it('wants nothing of no lag at all', () => {
  expect(wantedReplicas([], scaling)).toEqual([]);
});
