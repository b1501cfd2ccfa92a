import { type CustomTransportStrategy, type MessageHandler, Server } from '@nestjs/microservices';
import {
  type Consumer,
  type Contract,
  type InstanceOperation,
  type Operation,
  operationsOf,
} from '@parley/contracts/operation';
import { yieldToEventLoop } from '@parley/background/yield-to-event-loop';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import { continueTrace, currentTraceparent, isTracing } from '@parley/tracing/tracing';
import { traceIdOf } from '@parley/tracing/traceparent';
import { isObservable, lastValueFrom } from 'rxjs';
import type { Driver, RequestHandler, Subscription, SubscriptionOptions } from './driver';
import { answerMessage, errorMessage, readCaller, readInput, readLines, type Request, tenantOf } from './envelope';
import type { Delivery, EventStream, WorkingConsumer } from './event-stream';
import { RequestContext, transportId } from './handles';
import type { JsonLines } from '@parley/background/json-lines';
import { LargeRequestSemaphore } from './large-requests';
import { largeBodyBytes, type RequestMessage } from './message';
import { instanceSubject } from './subjects';

type OperationHandler = (caller: Request['caller'], input: unknown) => Promise<unknown>;

/** Outcome of one operation or event, for logs and metrics. */
export interface Handled {
  kind: 'operation' | 'event';
  subject: string;
  durationMs: number;
  /** `ok`, the error type, or `given back` for an event that a stopping process returns to the stream. */
  outcome: string;
  /** Events only: the consumer, and the delivery attempt, from 1. */
  consumer?: string;
  attempt?: number;
}

export interface ParleyServerOptions {
  /** Service name: also the queue group that its replicas share. */
  service: string;
  contract: Contract;
  /** Consumers that must have a handler. Others are not checked. */
  consumers?: Consumer[];
  driver: Driver;
  events: EventStream;
  /** Stores an event that failed too often. Without it, such an event is delivered again until it succeeds. */
  deadLetter?: (consumer: string, ...letter: Parameters<WorkingConsumer['deadLetter']>) => Promise<void>;
  logger: Logger;
  observe: (handled: Handled) => void;
  /** Load shedding hook: called before a request is parsed, throws to reject it. Its result is called after the answer. */
  admit?: (operation: Operation | InstanceOperation) => () => void;
}

/**
 * Transport strategy: serves the `@Handles` and `@Consumes` methods of a Nest container on the bus. It does the work of
 * every message itself (load shedding, log line, metrics, span, error mapping, dead letters), because Nest's enhancers
 * cost 30 to 45 µs a call. A handler may have enhancers of its own.
 */
export class ParleyServer extends Server implements CustomTransportStrategy {
  override readonly transportId = transportId;
  private readonly operations = new Map<Operation, MessageHandler>();
  private readonly consumers = new Map<Consumer, MessageHandler>();
  private readonly largeRequests = new LargeRequestSemaphore();
  private drained?: Promise<void>;

  constructor(private readonly options: ParleyServerOptions) {
    super();
  }

  /** Throws for a second handler, which Nest's own registration would put in place of the first. */
  override addHandler(
    pattern: string,
    handler: MessageHandler,
    isEventHandler = false,
    { operation, consumer }: { operation?: Operation; consumer?: Consumer } = {},
  ): void {
    if (this.messageHandlers.has(pattern))
      throw new Error(
        isEventHandler
          ? `Two consumers are named ${pattern}: rename one of them.`
          : `${pattern} has two handlers: keep one of them.`,
      );
    if (operation) this.operations.set(operation, handler);
    else if (consumer) this.consumers.set(consumer, handler);
    else throw new Error(`The handler of ${pattern} has no contract: mark it with @Handles or @Consumes.`);
    super.addHandler(pattern, handler, isEventHandler, { operation, consumer });
  }

  /** Calls back with an error unless exactly the operations of the contract have handlers. */
  async listen(callback: (error?: unknown) => void): Promise<void> {
    const { driver, service, events } = this.options;
    try {
      this.checkContract();
      for (const [operation, handler] of this.operations) {
        driver.serve(
          operation.subject,
          service,
          this.requestHandler(operation, this.operationHandler(operation, handler)),
        );
      }
      for (const [consumer, handler] of this.consumers) await events.consume(this.workingConsumer(consumer, handler));
      callback();
    } catch (error) {
      callback(error);
    }
  }

  /** Serves an operation for the key of something that only this process holds, such as a stream or a tunnel. */
  serveInstance<I, O>(
    operation: InstanceOperation<I, O>,
    key: string,
    handler: (caller: Request['caller'], input: I) => Promise<O>,
    options?: SubscriptionOptions,
  ): Subscription {
    const { driver } = this.options;
    return driver.serveInstance(
      instanceSubject(operation.subject, key),
      this.requestHandler(operation, handler as OperationHandler),
      options,
    );
  }

  /** Lets a drain wait for work that goes on after the answer to its request, such as a stream. */
  hold(work: Promise<unknown>): void {
    this.options.driver.hold(work);
  }

  /**
   * Graceful shutdown: accepts no further messages, answers the accepted ones and gives events back. Call it in
   * `onModuleDestroy` or before `app.close()`: Nest closes microservices after the background work has stopped.
   */
  drain(timeoutMs?: number): Promise<void> {
    const { driver, events } = this.options;
    this.drained ??= Promise.all([
      driver.drain(timeoutMs),
      // In embedded mode all services share one stream: an app without consumers must not stop those of others.
      this.consumers.size > 0 ? events.drain() : undefined,
    ]).then(() => undefined);
    return this.drained;
  }

  /** Called by Nest when the app closes. The driver stays open for messages that leave last, such as events. */
  async close(): Promise<void> {
    await this.drain();
  }

  override on(): never {
    throw new Error('ParleyServer has no events: use the hooks of its options.');
  }

  override unwrap<T = Driver>(): T {
    return this.options.driver as T;
  }

  private checkContract(): void {
    const { contract, service, consumers = [] } = this.options;
    const declared = operationsOf(contract);
    const missing = declared.filter((operation) => !this.operations.has(operation));
    const foreign = [...this.operations.keys()].filter((operation) => !declared.includes(operation));
    if (missing.length > 0) {
      throw new Error(
        `${service} has no handler for: ${subjects(missing)}. Mark a method of one of its controllers with @Handles.`,
      );
    }
    if (foreign.length > 0)
      throw new Error(
        `${service} handles operations outside of its contract: ${subjects(foreign)}. Add them to the contract or remove @Handles.`,
      );
    const unhandled = consumers.filter((consumer) => !this.consumers.has(consumer));
    if (unhandled.length > 0)
      throw new Error(
        `${service} has no handler for the consumers: ${unhandled.map(({ name }) => name).join(', ')}. Mark a method of one of its controllers with @Consumes.`,
      );
  }

  private operationHandler(operation: Operation, handler: MessageHandler): OperationHandler {
    return (caller, input) => resultOf(handler(input, new RequestContext([caller, operation])));
  }

  private requestHandler(operation: Operation | InstanceOperation, handler: OperationHandler): RequestHandler {
    const { subject } = operation;
    const { admit = () => () => undefined } = this.options;
    return async ({ head, body }: RequestMessage) => {
      let leave: () => void;
      try {
        leave = admit(operation);
      } catch (error) {
        return errorMessage(error);
      }
      const started = performance.now();
      let request: Request | undefined;
      const handle = (read: Request): Promise<unknown> => {
        request = read;
        return this.handled(subject, handler, read);
      };
      try {
        const caller = readCaller(head);
        const output = await (typeof body === 'string'
          ? handle({ caller, input: readInput(body) })
          : this.readLarge(caller, body, handle));
        const reply = answerMessage(output);
        this.report('operation', subject, started, 'ok', requestFields(request));
        // Serialising and sending a large answer block the event loop: others go in between.
        if (reply.body.length > largeBodyBytes) await yieldToEventLoop();
        return reply;
      } catch (error) {
        this.report('operation', subject, started, outcomeOf(error), requestFields(request), error);
        return errorMessage(error);
      } finally {
        leave();
      }
    };
  }

  private readLarge<T>(caller: Caller, body: JsonLines, work: (request: Request) => Promise<T>): Promise<T> {
    const read = async () => work({ caller, input: await readLines(body) });
    return body.byteLength > largeBodyBytes ? this.largeRequests.run(tenantOf(caller), read) : read();
  }

  private handled(subject: string, handler: OperationHandler, { caller, input }: Request): Promise<unknown> {
    if (!isTracing() || !caller.traceparent) return handler(caller, input);
    const attributes = {
      'rpc.system': 'parley',
      'rpc.service': this.options.service,
      'rpc.method': subject,
      'parley.bot.id': caller.bot?.id,
    };
    return continueTrace(caller.traceparent, { name: subject, kind: 'server', attributes }, () =>
      handler(caller, input),
    );
  }

  private workingConsumer(consumer: Consumer, handler: MessageHandler): WorkingConsumer {
    const { event, name, concurrency, maxDeliveries } = consumer;
    const { deadLetter, logger } = this.options;
    return {
      name,
      subject: event.subject,
      concurrency,
      maxDeliveries: deadLetter ? maxDeliveries : Infinity,
      deadLetter: async (dead, attempts, reason) => {
        await deadLetter?.(name, dead, attempts, reason);
        const message = deadLetter ? 'an event became a dead letter' : 'an unreadable event was dropped';
        logger.error({ consumer: name, event: dead.id, attempts, reason }, message);
      },
      handle: (delivery) => this.consume(consumer, handler, delivery),
    };
  }

  private async consume({ event, name }: Consumer, handler: MessageHandler, delivery: Delivery): Promise<void> {
    const { subject } = event;
    const { id, traceparent } = delivery.event;
    const attributes = {
      'messaging.system': 'parley',
      'messaging.operation.type': 'process',
      'messaging.destination.name': subject,
      'messaging.consumer.group.name': name,
      'messaging.message.id': id,
      'parley.attempt': delivery.attempt,
    };
    await continueTrace(traceparent, { name: `process ${subject}`, kind: 'consumer', attributes }, async (span) => {
      const started = performance.now();
      const traceId = traceIdOf(currentTraceparent() ?? traceparent);
      const about = { consumer: name, event: id, attempt: delivery.attempt, traceId };
      try {
        await resultOf(handler(delivery.event.data, delivery));
        span.set('parley.outcome', 'ok');
        this.report('event', subject, started, 'ok', about);
      } catch (error) {
        const outcome = delivery.signal.aborted ? 'given back' : outcomeOf(error);
        span.set('parley.outcome', outcome);
        this.report('event', subject, started, outcome, about, delivery.signal.aborted ? undefined : error);
        throw error;
      }
    });
  }

  private report(
    kind: Handled['kind'],
    subject: string,
    started: number,
    outcome: string,
    about: Pick<Handled, 'consumer' | 'attempt'>,
    error?: unknown,
  ): void {
    const durationMs = performance.now() - started;
    const { consumer, attempt } = about;
    this.options.observe({ kind, subject, durationMs, outcome, consumer, attempt });
    const line = { subject, ms: Math.round(durationMs * 10) / 10, outcome, ...about };
    // Unexpected errors are logged with their stack; client errors such as ResourceNotFound are routine.
    if (error !== undefined && !(error instanceof ApiError && error.code < 500)) {
      this.options.logger.error({ ...line, err: error }, `${kind} failed`);
    } else {
      this.options.logger.info(line, kind);
    }
  }
}

/** Result of a handler of Nest: an observable when an interceptor is bound to it, or the handler returns one. */
async function resultOf(returned: ReturnType<MessageHandler>): Promise<unknown> {
  const result: unknown = await returned;
  return isObservable(result) ? lastValueFrom(result, { defaultValue: undefined }) : result;
}

function requestFields(request: Request | undefined): object {
  if (!request) return {};
  const { requestId, traceparent, account, bot } = request.caller;
  return { requestId, traceId: traceIdOf(traceparent), account: account?.id, bot: bot?.id };
}

function outcomeOf(error: unknown): string {
  return error instanceof ApiError ? error.type : 'Internal';
}

function subjects(operations: Operation[]): string {
  return operations.map((operation) => operation.subject).join(', ');
}
