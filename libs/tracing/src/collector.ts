import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { withTimeout } from '@parley/background/with-timeout';
import type { Logger } from '@parley/logging/logger';
import { traceBy } from './tracing';

/** Length limit of span attributes: longer than any of our SQL statements. */
const maxValueLength = 8_000;
type Exported = Parameters<Parameters<SpanExporter['export']>[1]>[0];

/** Ends tracing. Pending spans are sent for at most `flushMs`. */
export type StopTracing = (flushMs: number) => Promise<void>;

/** Exports spans to the collector configured by the OpenTelemetry variables. Spans are lost while it is down. */
export function traceToCollector(serviceName: string, logger: Logger): StopTracing {
  return traceTo(serviceName, new BatchSpanProcessor(new PatientExporter(new OTLPTraceExporter(), logger)));
}

/** @param serviceName used unless OTEL_SERVICE_NAME or OTEL_RESOURCE_ATTRIBUTES sets another name */
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
