import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { traceTo } from '../collector';

export interface RecordedSpan {
  name: string;
  kind: string;
  traceId: string;
  id: string;
  parentId?: string;
  attributes: Record<string, unknown>;
  hasFailed: boolean;
}

/** Turns tracing on until `stop`, and records every ended span. */
export function recordSpans(): { spans: () => RecordedSpan[]; stop: () => Promise<void> } {
  const memory = new InMemorySpanExporter();
  const stop = traceTo('test', new SimpleSpanProcessor({ exporter: memory }));
  return { spans: () => memory.getFinishedSpans().map(toRecorded), stop: () => stop(1_000) };
}

function toRecorded(span: ReadableSpan): RecordedSpan {
  const { traceId, spanId } = span.spanContext();
  return {
    name: span.name,
    kind: SpanKind[span.kind].toLowerCase(),
    traceId,
    id: spanId,
    parentId: span.parentSpanContext?.spanId,
    attributes: span.attributes,
    hasFailed: span.status.code === SpanStatusCode.ERROR,
  };
}
