import type { Caller } from '@parley/contracts/caller';
import type { Broadcast, Channel, Operation } from '@parley/contracts/operation';
import {
  continueTrace,
  currentTraceparent,
  inSpan,
  isTraced,
  isTracing,
  type SpanStart,
} from '@parley/tracing/tracing';
import { type Answered, readAnswer, requestMessage } from './envelope';
import type { JsonBytes } from './message';
import { broadcastSubject, channelSubject } from './subjects';
import type { Listening, Transport } from './driver';

/** Client of the bus: requests to other services, broadcasts and channels. */
export class ParleyClient {
  constructor(private readonly transport: Transport) {}

  /** Sends a request and returns the output. Throws the service's ApiError, OperationTimeout or 503. */
  async call<I, O>(operation: Operation<I, O>, caller: Caller, input: I): Promise<O> {
    return JSON.parse((await this.ask(operation, caller, input)).text) as O;
  }

  /** Sends a request and returns the output as JSON text, for callers that only forward it. */
  async ask<I>(operation: Operation<I>, caller: Caller, input: I | JsonBytes): Promise<Answered> {
    if (!isTracing()) return this.send(operation, caller, input);
    const send = () =>
      this.send(operation, { ...caller, traceparent: currentTraceparent() ?? caller.traceparent }, input);
    if (isTraced()) return inSpan(spanOf(operation), send);
    // Background work without a caller's trace starts no trace of its own.
    return caller.traceparent ? continueTrace(caller.traceparent, spanOf(operation), send) : send();
  }

  private async send<I>({ subject, timeoutMs }: Operation<I>, caller: Caller, input: I | JsonBytes): Promise<Answered> {
    return readAnswer(await this.transport.request(subject, requestMessage(caller, input), timeoutMs));
  }

  /** Sends a hint to all listeners, at most once: it may be lost. */
  broadcast<D>({ subject }: Broadcast<D>, data: D): void {
    this.transport.broadcast(broadcastSubject(subject), { head: '', body: JSON.stringify(data) });
  }

  listen<D>({ subject }: Broadcast<D>, listener: (data: D) => void): void {
    this.transport.listen(broadcastSubject(subject), ({ body }) => listener(JSON.parse(body) as D));
  }

  /** Publishes to the subscribers of this key, in the order of the calls, at most once. */
  publish<D>(channel: Channel<D>, key: string, data: D): void {
    this.transport.broadcast(placeOf(channel, key), { head: '', body: JSON.stringify(data) });
  }

  subscribe<D>(channel: Channel<D>, key: string, listener: (data: D) => void): Listening {
    return this.transport.listen(placeOf(channel, key), ({ body }) => listener(JSON.parse(body) as D));
  }

  onReconnected(listener: () => void): void {
    this.transport.onReconnected(listener);
  }

  ready(): Promise<void> {
    return this.transport.ready();
  }
}

function spanOf({ subject }: Operation): SpanStart {
  return { name: subject, kind: 'client', attributes: { 'rpc.system': 'parley', 'rpc.method': subject } };
}

/** Throws for a key with wildcards or dots, which would reach other subjects. */
function placeOf({ subject }: Channel, key: string): string {
  if (!/^[\w-]+$/.test(key))
    throw new TypeError(`"${key}" is not a valid channel key: use letters, digits, "_" and "-".`);
  return channelSubject(subject, key);
}
