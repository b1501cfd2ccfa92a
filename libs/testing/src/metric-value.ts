/** Value of a series, with its labels as they are written, in the Prometheus text format. NaN if it is not there. */
export function metricValue(text: string, series: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return Number(line?.slice(series.length + 1));
}
