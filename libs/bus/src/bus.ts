import type { Caller } from '@parley/contracts/caller';
import type { Broadcast, Operation } from '@parley/contracts/operation';
import { readAnswer, requestMessage } from './envelope';
import type { Transport } from './transport';

/** Asks other services. */
export class Bus {
  constructor(private readonly transport: Transport) {}

  /** The operation's answer. Throws ApiError: what the service said, or OperationTimeout, or 503 when nobody listens. */
  async call<I, O>(operation: Operation<I, O>, caller: Caller, input: I): Promise<O> {
    return JSON.parse(await this.ask(operation, caller, input)) as O;
  }

  /** The same, as the JSON text that the service wrote: for whoever only passes it on. */
  async ask<I>({ subject, timeoutMs }: Operation<I>, caller: Caller, input: I): Promise<string> {
    return readAnswer(await this.transport.request(subject, requestMessage(caller, input), timeoutMs));
  }

  /** Hints that may be lost without harm. */
  broadcast<D>({ subject }: Broadcast<D>, data: D): void {
    this.transport.broadcast(`broadcast.${subject}`, { head: '', body: JSON.stringify(data) });
  }

  listen<D>({ subject }: Broadcast<D>, listener: (data: D) => void): void {
    this.transport.listen(`broadcast.${subject}`, ({ body }) => listener(JSON.parse(body) as D));
  }

  ready(): Promise<void> {
    return this.transport.ready();
  }
}
