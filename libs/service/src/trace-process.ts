import type { Logger } from '@parley/logging/logger';
import type { Sampling, StopTracing } from '@parley/tracing/collector';
import type { ProcessConfig } from './config';

/** Time for pending spans to reach the collector at exit. */
export const flushMs = 300;

/**
 * Starts tracing when a collector is configured. Call it before the modules are created: they check once whether it is
 * on.
 */
export async function traceProcess(
  name: string,
  { otlpEndpoint, ...sampling }: Pick<ProcessConfig, 'otlpEndpoint'> & Sampling,
  logger: Logger,
): Promise<StopTracing> {
  if (otlpEndpoint === undefined) return () => Promise.resolve();
  const { traceToCollector } = await import('@parley/tracing/collector');
  return traceToCollector(name, sampling, logger);
}
