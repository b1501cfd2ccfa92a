import { type DiscoveryService, MetadataScanner } from '@nestjs/core';
import { type Consumer, type Contract, type Operation, operationsOf } from '@parley/contracts/operation';
import { ApiError } from '@parley/contracts/errors';
import type { Logger } from '@parley/logging/logger';
import { continueTrace, currentTraceparent, isTracing } from '@parley/tracing/tracing';
import { traceIdOf } from '@parley/tracing/traceparent';
import { answerMessage, errorMessage, readCaller, readRequest, type Request, tenantOf } from './envelope';
import type { Delivery, EventStream, WorkingConsumer } from './event-stream';
import { declaredConsumer, handledOperation } from './handles';
import { LargeJson, LargeRequestTurns } from './large-json';
import { largeBodyBytes, type Message, type RequestMessage } from './message';
import type { Answer, Transport } from './driver';

type Handler = (caller: Request['caller'], input: unknown) => Promise<unknown>;
type EventHandler = (data: unknown, delivery: Delivery) => Promise<void>;

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

export interface DispatcherOptions {
  /** Service name: also the queue group that its replicas share. */
  service: string;
  contract: Contract;
  transport: Transport;
  events: EventStream;
  bury: (consumer: string, ...letter: Parameters<WorkingConsumer['bury']>) => Promise<void>;
  logger: Logger;
  observe: (handled: Handled) => void;
  /** Load shedding hook: called before a request is parsed, throws to reject it. Its result is called after the answer. */
  admit?: (operation: Operation) => () => void;
}

/** Registers the `@Handles` and `@Consumes` methods of a Nest container on the bus. */
export class Dispatcher {
  private readonly handlers = new Map<Operation, Handler>();
  private readonly consumers: { declaration: Consumer; handler: EventHandler }[] = [];
  private readonly largeJson: LargeJson;
  private readonly turns = new LargeRequestTurns();

  constructor(
    private readonly options: DispatcherOptions,
    discovery: DiscoveryService,
  ) {
    this.largeJson = new LargeJson(options.logger);
    this.discover(discovery);
    this.checkContract();
  }

  async start(): Promise<void> {
    const { transport, service, events } = this.options;
    for (const [operation, handler] of this.handlers) {
      transport.serve(operation.subject, service, this.answer(operation, handler));
    }
    for (const { declaration, handler } of this.consumers) await events.consume(this.consumer(declaration, handler));
  }

  /** Call after all requests are answered. */
  async close(): Promise<void> {
    await this.largeJson.close();
  }

  private discover(discovery: DiscoveryService): void {
    const scanner = new MetadataScanner();
    // By instance, not by class: a factory provider counts, and a provider with two names counts once.
    const instances = new Set([...discovery.getControllers(), ...discovery.getProviders()].map(instanceOf));
    for (const instance of instances) {
      const prototype = instance && Reflect.getPrototypeOf(instance);
      if (!prototype || prototype === Object.prototype) continue;
      for (const name of scanner.getAllMethodNames(prototype)) {
        const method = (instance as Record<string, unknown>)[name];
        if (typeof method === 'function') this.register(method as Handler, instance);
      }
    }
  }

  private register(method: Handler, target: object): void {
    const operation = handledOperation(method);
    if (operation) {
      if (this.handlers.has(operation)) throw new Error(`${operation.subject} has two handlers: keep one of them.`);
      this.handlers.set(operation, method.bind(target));
    }
    const declaration = declaredConsumer(method);
    if (!declaration) return;
    if (this.consumers.some((known) => known.declaration.name === declaration.name)) {
      throw new Error(`Two consumers are named ${declaration.name}: rename one of them.`);
    }
    this.consumers.push({ declaration, handler: method.bind(target) as EventHandler });
  }

  private checkContract(): void {
    const { contract, service } = this.options;
    const declared = operationsOf(contract);
    const missing = declared.filter((operation) => !this.handlers.has(operation));
    const foreign = [...this.handlers.keys()].filter((operation) => !declared.includes(operation));
    if (missing.length > 0) {
      throw new Error(
        `${service} has no handler for: ${subjects(missing)}. Mark a method of one of its controllers with @Handles.`,
      );
    }
    if (foreign.length > 0)
      throw new Error(
        `${service} handles operations outside of its contract: ${subjects(foreign)}. Add them to the contract or remove @Handles.`,
      );
  }

  private answer(operation: Operation, handler: Handler): Answer {
    const { admit = () => () => undefined } = this.options;
    const handle = this.handle(operation, handler);
    return async (message: RequestMessage) => {
      let leave: () => void;
      try {
        leave = admit(operation);
      } catch (error) {
        return errorMessage(error);
      }
      return handle(message).finally(leave);
    };
  }

  private handle({ subject }: Operation, handler: Handler): Answer {
    return async ({ head, body }: RequestMessage) => {
      const started = performance.now();
      let request: Request | undefined;
      const answer = async (read: Request): Promise<Message> => {
        request = read;
        return answerMessage(await this.handled(subject, handler, read));
      };
      try {
        const reply = await (typeof body === 'string'
          ? answer(readRequest({ head, body }))
          : this.readBytes(head, body, answer));
        this.report('operation', subject, started, 'ok', asked(request));
        return reply;
      } catch (error) {
        this.report('operation', subject, started, outcomeOf(error), asked(request), error);
        return errorMessage(error);
      }
    };
  }

  private async readBytes<T>(head: string, body: Uint8Array, work: (request: Request) => Promise<T>): Promise<T> {
    const caller = readCaller(head);
    const read = async () => work({ caller, input: await this.largeJson.parse(body) });
    return body.byteLength > largeBodyBytes ? this.turns.run(tenantOf(caller), read) : read();
  }

  private handled(subject: string, handler: Handler, { caller, input }: Request): Promise<unknown> {
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

  private consumer(declaration: Consumer, handler: EventHandler): WorkingConsumer {
    const { event, name, concurrency, maxDeliveries } = declaration;
    return {
      name,
      subject: event.subject,
      concurrency,
      maxDeliveries,
      bury: async (dead, attempts, reason) => {
        await this.options.bury(name, dead, attempts, reason);
        this.options.logger.error(
          { consumer: name, event: dead.id, attempts, reason },
          'an event became a dead letter',
        );
      },
      handle: (delivery) => this.consume(declaration, handler, delivery),
    };
  }

  private async consume({ event, name }: Consumer, handler: EventHandler, delivery: Delivery): Promise<void> {
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
        await handler(delivery.event.data, delivery);
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

function asked(request: Request | undefined): object {
  if (!request) return {};
  const { requestId, traceparent, account, bot } = request.caller;
  return { requestId, traceId: traceIdOf(traceparent), account: account?.id, bot: bot?.id };
}

function instanceOf({ instance }: { instance: unknown }): object | undefined {
  return typeof instance === 'object' && instance !== null ? instance : undefined;
}

function outcomeOf(error: unknown): string {
  return error instanceof ApiError ? error.type : 'Internal';
}

function subjects(operations: Operation[]): string {
  return operations.map((operation) => operation.subject).join(', ');
}
