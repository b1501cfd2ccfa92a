/**
 * Value of a series, with its labels as they are written, in the Prometheus text format.
 *
 * @param absent value of a series that is not there, as a counter with labels before its first event. Without it, throws.
 */
export function metricValue(text: string, series: string, absent?: number): number {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  if (line !== undefined) return Number(line.slice(series.length + 1));
  if (absent !== undefined) return absent;
  throw new Error(`The metrics have no series ${series}.`);
}
