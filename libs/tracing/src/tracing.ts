import {
  type Context,
  type ContextManager,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { ApiError } from '@parley/contracts/errors';
import { isTraceparent } from './traceparent';

/** A span's name and initial attributes. Never include tokens, content, values or signed URLs. */
export interface SpanStart {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  attributes: Record<string, string | number | undefined>;
}

interface RunningSpan {
  set(attribute: string, value: string | number | string[]): void;
}

const kinds: Record<SpanStart['kind'], SpanKind> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
};
const noSpan: RunningSpan = { set: () => undefined };

interface Tracing {
  tracer: Tracer;
  contexts: ContextManager;
}

let tracing: Tracing | undefined;

export function traceBy(next: Tracing | undefined): void {
  tracing = next;
}

/** True when tracing is on. Check it first on hot paths, so that nothing is allocated for spans. */
export function isTracing(): boolean {
  return tracing !== undefined;
}

export function isTraced(): boolean {
  return activeSpan()?.isRecording() === true;
}

/** W3C trace context of the active span; undefined without one. */
export function currentTraceparent(): string | undefined {
  const span = activeSpan();
  return span && toTraceparent(span);
}

/** Runs the work in a child of the active span. Without a recorded span, only runs it. */
export async function inSpan<T>(start: SpanStart, work: (span: RunningSpan) => Promise<T>): Promise<T> {
  return isTraced() ? new OpenSpan(tracing!, start, tracing!.contexts.active()).during(work) : work(noSpan);
}

/** Runs each step of the source in a child of the active span. */
export async function* stepsInSpans<T>(start: SpanStart, source: AsyncIterable<T>): AsyncGenerator<T> {
  const steps = source[Symbol.asyncIterator]();
  try {
    for (;;) {
      const step = await inSpan(start, () => steps.next());
      if (step.done) return;
      yield step.value;
    }
  } finally {
    await steps.return?.();
  }
}

/** Runs the work in a span that continues a remote trace. An invalid traceparent starts a new trace. */
export async function continueTrace<T>(
  traceparent: string | undefined,
  start: SpanStart,
  work: (span: RunningSpan) => Promise<T>,
): Promise<T> {
  return tracing ? openSpan(traceparent, start).during(work) : work(noSpan);
}

/** Like `continueTrace`, for work that calls `end` itself. Requires that tracing is on. */
export function openSpan(traceparent: string | undefined, start: SpanStart): OpenSpan {
  const parent = isTraceparent(traceparent)
    ? trace.setSpanContext(ROOT_CONTEXT, {
        traceId: traceparent.slice(3, 35),
        spanId: traceparent.slice(36, 52),
        traceFlags: parseInt(traceparent.slice(53), 16) & 1,
        isRemote: true,
      })
    : ROOT_CONTEXT;
  return new OpenSpan(tracing!, start, parent);
}

/** An open span. The caller must end it. */
export class OpenSpan implements RunningSpan {
  private readonly span: Span;

  constructor(
    private readonly tracing: Tracing,
    { name, kind, attributes }: SpanStart,
    private readonly parent: Context,
  ) {
    this.span = tracing.tracer.startSpan(name, { kind: kinds[kind], attributes }, parent);
  }

  get traceparent(): string {
    return toTraceparent(this.span);
  }

  set(attribute: string, value: string | number | string[]): void {
    this.span.setAttribute(attribute, value);
  }

  within<T>(work: () => T): T {
    return this.tracing.contexts.with(trace.setSpan(this.parent, this.span), work);
  }

  /** @param failure error type, for server errors only */
  end(failure?: string): void {
    if (failure !== undefined) this.span.setStatus({ code: SpanStatusCode.ERROR });
    this.span.end();
  }

  async during<T>(work: (span: RunningSpan) => Promise<T>): Promise<T> {
    try {
      const result = await this.within(() => work(this));
      this.end();
      return result;
    } catch (error) {
      const type = errorTypeOf(error);
      this.set('error.type', type);
      this.end(error instanceof ApiError && error.code < 500 ? undefined : type);
      throw error;
    }
  }
}

function activeSpan(): Span | undefined {
  return tracing && trace.getSpan(tracing.contexts.active());
}

function toTraceparent(span: Span): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-${(traceFlags & 1).toString().padStart(2, '0')}`;
}

/** Type or code of an error. Never its message, which may quote content. */
function errorTypeOf(error: unknown): string {
  if (error instanceof ApiError) return error.type;
  const { code, name } = error as { code?: unknown; name?: string };
  return typeof code === 'string' ? code : (name ?? 'unknown');
}
