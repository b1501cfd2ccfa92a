/** Number of contents waiting or in progress, at a time in seconds. */
export interface Lag {
  atSeconds: number;
  lag: number;
}

/** Values of `apps.files-worker.keda` in the Helm chart. */
export interface Scaling {
  lagThreshold: number;
  min: number;
  max: number;
  pollingSeconds: number;
  /** Stabilisation window before scaling down. */
  scaleDownAfterSeconds: number;
}

export interface Decision extends Lag {
  replicas: number;
}

/**
 * Simulates KEDA and the horizontal pod autoscaler: replicas at each poll are the lag divided by the threshold, rounded
 * up, within the bounds. Scales down only to the maximum of the stabilisation window.
 */
export function simulateAutoscaler(lags: Lag[], scaling: Scaling): Decision[] {
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
