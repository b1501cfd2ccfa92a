import { ClientProxy, type ReadPacket, type WritePacket } from '@nestjs/microservices';
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
import type { Driver, Subscription } from './driver';

/** Data of Nest's `send`: the caller, and the input of the operation. */
interface RequestData<I = unknown> {
  caller: Caller;
  input: I;
}

/**
 * Client of the bus: requests to other services, broadcasts and channels. Its own methods are typed by the contracts and
 * return promises; Nest's `send(operation, { caller, input })` and `emit(broadcast, data)` do the same as observables.
 */
export class ParleyClient extends ClientProxy {
  constructor(private readonly driver: Driver) {
    super();
  }

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

  subscribe<D>({ subject }: Channel<D>, key: string, listener: (data: D) => void): Subscription {
    return this.driver.listen(channelSubject(subject, key), ({ body }) => listener(JSON.parse(body) as D));
  }

  onReconnected(listener: () => void): void {
    this.driver.onReconnected(listener);
  }

  ready(): Promise<void> {
    return this.driver.ready();
  }

  /** Nest calls it before `send` and `emit`. Does nothing: the driver connects when the process starts. */
  connect(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return this.driver.close();
  }

  override unwrap<T = Driver>(): T {
    return this.driver as T;
  }

  /** Request of Nest's `send`. An unsubscribed observable ignores the answer; the work itself continues. */
  protected override publish({ pattern, data }: ReadPacket, callback: (packet: WritePacket) => void): () => void {
    let isWanted = true;
    const answer = (packet: WritePacket) => isWanted && callback({ ...packet, isDisposed: true });
    const { caller, input } = data as RequestData;
    this.call(kindOf<Operation>(pattern, 'operation', 'send'), caller, input).then(
      (response) => answer({ response }),
      (err: unknown) => answer({ err }),
    );
    return () => (isWanted = false);
  }

  /** Broadcast of Nest's `emit`. Durable events go through the outbox, which cannot lose them. */
  protected override dispatchEvent<T>({ pattern, data }: ReadPacket): Promise<T> {
    this.broadcast(kindOf<Broadcast>(pattern, 'broadcast', 'emit'), data);
    return Promise.resolve(undefined as T);
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

/** Throws TypeError unless the pattern is a contract of this kind. */
function kindOf<T extends { kind: string }>(pattern: unknown, kind: T['kind'], method: string): T {
  if ((pattern as Partial<T> | null)?.kind === kind) return pattern as T;
  throw new TypeError(`${method}: the pattern must be a contract of the kind "${kind}".`);
}
