import type { Logger } from '@parley/logging/logger';
import type { StopTracing } from '@parley/tracing/collector';
import type { ProcessConfig } from './config';

/** For spans that wait for the collector when the process ends. */
export const flushMs = 300;

/** Traces what this process does when a collector is named. Comes before its modules are made: they look once whether it is on. */
export async function traceProcess(
  name: string,
  { otlpEndpoint, tracedName = name }: Pick<ProcessConfig, 'otlpEndpoint' | 'tracedName'>,
  logger: Logger,
): Promise<StopTracing> {
  if (otlpEndpoint === undefined) return () => Promise.resolve();
  // Nothing of it is loaded by who does not want it.
  const { traceToCollector } = await import('@parley/tracing/collector');
  return traceToCollector(tracedName, logger);
}
