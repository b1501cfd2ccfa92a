import type { Caller } from '@parley/contracts/caller';
import type { Broadcast, Channel, InstanceOperation, Operation } from '@parley/contracts/operation';
import {
  continueTrace,
  currentTraceparent,
  inSpan,
  isTraced,
  isTracing,
  type SpanStart,
} from '@parley/tracing/tracing';
import { readReply, type Reply, requestMessage } from './envelope';
import type { JsonLines } from '@parley/background/json-lines';
import { broadcastSubject, channelSubject, instanceSubject } from './subjects';
import type { Driver, Subscription, SubscriptionOptions } from './driver';

/** Client of the bus, typed by the contracts: requests to other services, broadcasts and channels. */
export class ParleyClient {
  constructor(private readonly driver: Driver) {}

  /**
   * Sends a request and returns the output. Throws the service's ApiError, OperationTimeout or 503.
   * @param input JsonLines if it may have more than a megabyte, which takes too long to serialise at once
   */
  async call<I, O>(operation: Operation<I, O>, caller: Caller, input: I | JsonLines): Promise<O> {
    return JSON.parse((await this.request(operation, caller, input)).text) as O;
  }

  /** Sends a request and returns the output as JSON text, for callers that only forward it. */
  request<I>(operation: Operation<I>, caller: Caller, input: I | JsonLines): Promise<Reply> {
    return this.ask(operation.subject, operation.timeoutMs, caller, input);
  }

  /** Sends a request to the process that serves this key. Throws like `call`: 503 at once when no process does. */
  async callInstance<I, O>(
    operation: InstanceOperation<I, O>,
    key: string,
    caller: Caller,
    input: I | JsonLines,
  ): Promise<O> {
    const subject = instanceSubject(operation.subject, key);
    return JSON.parse((await this.ask(subject, operation.timeoutMs, caller, input)).text) as O;
  }

  /** Sends a hint to all listeners, at most once: it may be lost. */
  broadcast<D>({ subject }: Broadcast<D>, data: D): void {
    this.driver.broadcast(broadcastSubject(subject), { head: '', body: JSON.stringify(data) });
  }

  listen<D>({ subject }: Broadcast<D>, listener: (data: D) => void): void {
    this.driver.listen(broadcastSubject(subject), ({ body }) => listener(JSON.parse(body) as D));
  }

  /** Publishes to the subscribers of this key, in the order of the calls, at most once. */
  publishTo<D>({ subject }: Channel<D>, key: string, data: D): void {
    this.driver.broadcast(channelSubject(subject, key), { head: '', body: JSON.stringify(data) });
  }

  subscribe<D>(
    { subject }: Channel<D>,
    key: string,
    listener: (data: D) => void,
    options?: SubscriptionOptions,
  ): Subscription {
    return this.driver.listen(channelSubject(subject, key), ({ body }) => listener(JSON.parse(body) as D), options);
  }

  onReconnected(listener: () => void): void {
    this.driver.onReconnected(listener);
  }

  ready(): Promise<void> {
    return this.driver.ready();
  }

  close(): Promise<void> {
    return this.driver.close();
  }

  private ask(subject: string, timeoutMs: number, caller: Caller, input: unknown): Promise<Reply> {
    if (!isTracing()) return this.exchange(subject, timeoutMs, caller, input);
    const exchange = () =>
      this.exchange(subject, timeoutMs, { ...caller, traceparent: currentTraceparent() ?? caller.traceparent }, input);
    if (isTraced()) return inSpan(spanOf(subject), exchange);
    // Background work without a caller's trace starts no trace of its own.
    return caller.traceparent ? continueTrace(caller.traceparent, spanOf(subject), exchange) : exchange();
  }

  private async exchange(subject: string, timeoutMs: number, caller: Caller, input: unknown): Promise<Reply> {
    return readReply(await this.driver.request(subject, requestMessage(caller, input), timeoutMs));
  }
}

function spanOf(subject: string): SpanStart {
  return { name: subject, kind: 'client', attributes: { 'rpc.system': 'parley', 'rpc.method': subject } };
}
