import 'reflect-metadata';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { BaseRpcContext, Ctx, EventPattern, MessagePattern, Payload } from '@nestjs/microservices';
import type { Caller } from '@parley/contracts/caller';
import type { CallerFor, Consumer, Operation } from '@parley/contracts/operation';
import type { Delivery } from './event-stream';
import type { JsonText } from './message';

/** Nest's id of this transport: handlers of other transports in the same app do not get its messages. */
export const transportId = Symbol('parley');

type Method<T> = <M extends T>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

/** Context of a request, as `@Ctx()` and Nest's guards, interceptors and filters get it. */
export class RequestContext extends BaseRpcContext<[Caller, Operation]> {
  get caller(): Caller {
    return this.args[0];
  }

  get operation(): Operation {
    return this.args[1];
  }
}

/** Principal of the request, over HTTP and over the bus. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller | undefined =>
  // By index: `switchToHttp` and `switchToRpc` allocate three closures a call. Over HTTP the request is argument 0, over
  // the bus the context is argument 1.
  context.getType() === 'rpc'
    ? context.getArgByIndex<RequestContext>(1).caller
    : context.getArgByIndex<{ caller?: Caller }>(0).caller,
);

/**
 * Handler of an operation: `@MessagePattern` of its subject, with `@CurrentCaller()` and `@Payload()` on the arguments.
 * Compiles only if caller, input and output match the contract.
 */
export function Handles<I, O, A extends Operation>(
  operation: Operation<I, O> & A,
): Method<(caller: CallerFor<A>, input: I) => Promise<O | JsonText<O>>> {
  return (target, property, descriptor) => {
    MessagePattern(operation.subject, transportId, { operation })(target, property, descriptor);
    CurrentCaller()(target, property, 0);
    Payload()(target, property, 1);
  };
}

/**
 * Handler of a consumer: `@EventPattern` of its name, with `@Payload()` and `@Ctx()` on the arguments. Must be
 * idempotent: return to acknowledge, throw to redeliver.
 */
export function Consumes<D>(consumer: Consumer<D>): Method<(data: D, delivery: Delivery) => Promise<void>> {
  return (target, property, descriptor) => {
    EventPattern<string>(consumer.name, transportId, { consumer })(target, property, descriptor);
    Payload()(target, property, 0);
    Ctx()(target, property, 1);
  };
}
