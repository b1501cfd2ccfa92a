import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { within } from '@parley/background/within';
import type { Logger } from '@parley/logging/logger';
import { traceBy } from './tracing';

/** The longest statement of ours is shorter; a runaway one costs no more. */
const maxValueLength = 8_000;
type Exported = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** Ends tracing; what waits is sent, for at most so long. */
export type StopTracing = (flushMs: number) => Promise<void>;

/** Sends spans to the collector that the variables of OpenTelemetry name. It may be away: then spans are lost, and nothing else. */
export function traceToCollector(serviceName: string, logger: Logger): StopTracing {
  return traceTo(serviceName, new BatchSpanProcessor(new PatientExporter(new OTLPTraceExporter(), logger)));
}

/** @param serviceName unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES names another one */
export function traceTo(serviceName: string, processor: SpanProcessor): StopTracing {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceName }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanLimits: { attributeValueLengthLimit: maxValueLength },
    spanProcessors: [processor],
  });
  traceBy({ tracer: provider.getTracer('parley'), contexts: new AsyncLocalStorageContextManager() });
  return async (flushMs) => {
    traceBy(undefined);
    await within(
      flushMs,
      provider.shutdown().catch(() => undefined),
    );
  };
}

/** Tells once that spans do not arrive, and once that they do again, whatever lies between. */
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
      // The processor would tell every failure anew.
      done({ code: 0 });
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  private arrived(): void {
    if (this.lost > 0) this.logger.info({ lost: this.lost }, 'the trace collector takes spans again');
    this.lost = 0;
  }

  private missed(count: number, error: Error | undefined): void {
    if (this.lost === 0) {
      this.logger.warn({ reason: error?.message }, 'the trace collector takes no spans: they are lost until it does');
    }
    this.lost += count;
  }
}
