/** Contents that wait or are worked on, at a time in seconds. */
export interface Lag {
  atSeconds: number;
  lag: number;
}

/** As in `apps.files-worker.keda` of the Helm chart's values. */
export interface Scaling {
  /** Contents for each worker. */
  lagThreshold: number;
  min: number;
  max: number;
  pollingSeconds: number;
  /** How long fewer workers must have been enough before some are stopped. */
  scaleDownAfterSeconds: number;
}

export interface Decision extends Lag {
  replicas: number;
}

/**
 * How many workers KEDA and the autoscaler that it feeds want at each poll: the lag divided by the threshold, rounded up,
 * within the bounds; fewer only once no more were wanted for as long as it takes to scale down.
 */
export function wantedReplicas(lags: Lag[], scaling: Scaling): Decision[] {
  const { lagThreshold, min, max, pollingSeconds, scaleDownAfterSeconds } = scaling;
  const decisions: Decision[] = [];
  const wishes: { atSeconds: number; wish: number }[] = [];
  const end = lags.at(-1)?.atSeconds ?? -1;
  for (let atSeconds = 0; atSeconds <= end; atSeconds += pollingSeconds) {
    const lag = lags.findLast((known) => known.atSeconds <= atSeconds)?.lag ?? 0;
    wishes.push({ atSeconds, wish: Math.min(max, Math.max(min, Math.ceil(lag / lagThreshold))) });
    const recent = wishes.filter(
      (one) => one.atSeconds > atSeconds - scaleDownAfterSeconds || one.atSeconds === atSeconds,
    );
    decisions.push({ atSeconds, lag, replicas: Math.max(...recent.map(({ wish }) => wish)) });
  }
  return decisions;
}
