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
import { broadcastPlace, channelPlace } from './places';
import type { Listening, Transport } from './transport';

/** Asks other services. */
export class Bus {
  constructor(private readonly transport: Transport) {}

  /** The operation's answer. Throws ApiError: what the service said, or OperationTimeout, or 503 when nobody listens. */
  async call<I, O>(operation: Operation<I, O>, caller: Caller, input: I): Promise<O> {
    return JSON.parse((await this.ask(operation, caller, input)).text) as O;
  }

  /** The same as it came: for whoever only passes it on. */
  async ask<I>(operation: Operation<I>, caller: Caller, input: I | JsonBytes): Promise<Answered> {
    if (!isTracing()) return this.send(operation, caller, input);
    const send = () =>
      this.send(operation, { ...caller, traceparent: currentTraceparent() ?? caller.traceparent }, input);
    if (isTraced()) return inSpan(spanOf(operation), send);
    // Whoever asks by themselves, on nobody's behalf, begins no trace.
    return caller.traceparent ? continueTrace(caller.traceparent, spanOf(operation), send) : send();
  }

  private async send<I>({ subject, timeoutMs }: Operation<I>, caller: Caller, input: I | JsonBytes): Promise<Answered> {
    return readAnswer(await this.transport.request(subject, requestMessage(caller, input), timeoutMs));
  }

  /** Hints that may be lost without harm. */
  broadcast<D>({ subject }: Broadcast<D>, data: D): void {
    this.transport.broadcast(broadcastPlace(subject), { head: '', body: JSON.stringify(data) });
  }

  listen<D>({ subject }: Broadcast<D>, listener: (data: D) => void): void {
    this.transport.listen(broadcastPlace(subject), ({ body }) => listener(JSON.parse(body) as D));
  }

  /** Tells it to those who follow this key, in the order of the calls. May be lost. */
  publish<D>(channel: Channel<D>, key: string, data: D): void {
    this.transport.broadcast(placeOf(channel, key), { head: '', body: JSON.stringify(data) });
  }

  subscribe<D>(channel: Channel<D>, key: string, listener: (data: D) => void): Listening {
    return this.transport.listen(placeOf(channel, key), ({ body }) => listener(JSON.parse(body) as D));
  }

  /** Calls the listener each time that a lost connection is back: what was told meanwhile has not been heard. */
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

/** Throws for a key that would reach other places than its own. */
function placeOf({ subject }: Channel, key: string): string {
  if (!/^[\w-]+$/.test(key)) throw new TypeError(`"${key}" is no key of a channel.`);
  return channelPlace(subject, key);
}
