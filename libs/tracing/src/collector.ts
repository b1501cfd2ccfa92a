import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { withTimeout } from '@parley/background/with-timeout';
import type { Logger } from '@parley/logging/logger';
import { traceBy } from './tracing';

/** Length limit of span attributes: longer than any of our SQL statements. */
const maxValueLength = 8_000;
type Exported = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** Ends tracing. Pending spans are sent for at most `flushMs`. */
export type StopTracing = (flushMs: number) => Promise<void>;

/** Which traces are recorded: the values of OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG. */
export interface Sampling {
  tracesSampler: TracesSampler;
  /** From 0 to 1, for the samplers by ratio. */
  tracesRatio: number;
}

const rootSamplers = {
  always_on: () => new AlwaysOnSampler(),
  always_off: () => new AlwaysOffSampler(),
  traceidratio: (ratio: number) => new TraceIdRatioBasedSampler(ratio),
};
type RootSampler = keyof typeof rootSamplers;
export type TracesSampler = RootSampler | `parentbased_${RootSampler}`;

/** Exports spans to the collector configured by the OpenTelemetry variables. Spans are lost while it is down. */
export function traceToCollector(serviceName: string, sampling: Sampling, logger: Logger): StopTracing {
  const exporter = new PatientExporter(new OTLPTraceExporter(), logger);
  const processor = new BatchSpanProcessor({
    exporter,
    maxQueueSize: numberFrom('OTEL_BSP_MAX_QUEUE_SIZE'),
    maxExportBatchSize: numberFrom('OTEL_BSP_MAX_EXPORT_BATCH_SIZE'),
    scheduledDelayMillis: numberFrom('OTEL_BSP_SCHEDULE_DELAY'),
    exportTimeoutMillis: numberFrom('OTEL_BSP_EXPORT_TIMEOUT'),
  });
  return traceTo(serviceName, processor, samplerOf(sampling));
}

function samplerOf({ tracesSampler, tracesRatio }: Sampling): Sampler {
  const root = rootSamplers[tracesSampler.replace('parentbased_', '') as RootSampler](tracesRatio);
  return tracesSampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root;
}

/** The SDK has read no variables since version 3. Undefined, its default, for an absent or unusable value. */
function numberFrom(variable: string): number | undefined {
  return Number(process.env[variable]) || undefined;
}

/** @param serviceName used unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES sets another name */
export function traceTo(serviceName: string, processor: SpanProcessor, sampler?: Sampler): StopTracing {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    sampler,
    spanLimits: { attributeValueLengthLimit: maxValueLength },
    spanProcessors: [processor],
  });
  traceBy({ tracer: provider.getTracer('parley'), contexts: new AsyncLocalStorageContextManager() });
  return async (flushMs) => {
    traceBy(undefined);
    await withTimeout(
      flushMs,
      provider.shutdown().catch(() => undefined),
    );
  };
}

/** Logs once when exports begin to fail, and once when they work again. */
class PatientExporter implements SpanExporter {
  private lost = 0;

  constructor(
    private readonly exporter: SpanExporter,
    private readonly logger: Logger,
  ) {}

  export(spans: Parameters<SpanExporter['export']>[0], done: (result: Exported) => void): void {
    this.exporter.export(spans, (result) => {
      if (result.code === 0) this.arrived();
      else this.missed(spans.length, result.error);
      // Reported as success, because the processor would log each failure.
      done({ code: 0 });
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  private arrived(): void {
    if (this.lost > 0) this.logger.info({ lost: this.lost }, 'trace export works again');
    this.lost = 0;
  }

  private missed(count: number, error: Error | undefined): void {
    if (this.lost === 0) {
      this.logger.warn({ reason: error?.message }, 'trace export failed; spans are lost until it works again');
    }
    this.lost += count;
  }
}
