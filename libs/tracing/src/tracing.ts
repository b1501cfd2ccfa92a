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

/** What is known when a span begins. Nothing that was given in confidence: no token, content, value or signed URL. */
export interface SpanStart {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  attributes: Record<string, string | number | undefined>;
}

/** For what is only known while the work is done. */
interface RunningSpan {
  set(attribute: string, value: string | number): void;
}

const kinds: Record<SpanStart['kind'], SpanKind> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
};
const noSpan: RunningSpan = { set: () => undefined };

/** What makes spans, and what knows which one is under way. */
interface Tracing {
  tracer: Tracer;
  contexts: ContextManager;
}

let tracing: Tracing | undefined;

/** From now on spans are made by this, or none are. */
export function traceBy(next: Tracing | undefined): void {
  tracing = next;
}

/** Whether spans are made at all. On hot paths it is asked first, so that nothing is made for spans that nobody wants. */
export function isTracing(): boolean {
  return tracing !== undefined;
}

/** Whether what happens now belongs to a trace that is recorded. */
export function isTraced(): boolean {
  return activeSpan()?.isRecording() === true;
}

/** The span that is under way, as others continue it. Undefined outside of any. */
export function currentTraceparent(): string | undefined {
  const span = activeSpan();
  return span && toTraceparent(span);
}

/** Does the work in a span below the one that is under way. Outside of a trace it is only done. */
export async function inSpan<T>(start: SpanStart, work: (span: RunningSpan) => Promise<T>): Promise<T> {
  return isTraced() ? new OpenSpan(tracing!, start, tracing!.contexts.active()).during(work) : work(noSpan);
}

/** Each step of the source in a span below the one that is under way. */
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

/** Does the work in a span of the trace that came from elsewhere; what is no traceparent begins a new trace. */
export async function continueTrace<T>(
  traceparent: string | undefined,
  start: SpanStart,
  work: (span: RunningSpan) => Promise<T>,
): Promise<T> {
  return tracing ? openSpan(traceparent, start).during(work) : work(noSpan);
}

/** The same for work whose end is told by `end`. Only while tracing is on. */
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

/** A span under way. Whoever opens it ends it. */
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

  set(attribute: string, value: string | number): void {
    this.span.setAttribute(attribute, value);
  }

  /** What it does, and what that leads to, is below this span. */
  within<T>(work: () => T): T {
    return this.tracing.contexts.with(trace.setSpan(this.parent, this.span), work);
  }

  /** @param failure of ours, by its type */
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

/** Never its message, which may quote what it is about. */
function errorTypeOf(error: unknown): string {
  if (error instanceof ApiError) return error.type;
  const { code, name } = error as { code?: unknown; name?: string };
  return typeof code === 'string' ? code : (name ?? 'unknown');
}
