import 'reflect-metadata';
import type { CallerFor, Consumer, Operation } from '@parley/contracts/operation';
import type { Delivery } from './event-stream';

const operationKey = Symbol('parley:operation');
const consumerKey = Symbol('parley:consumer');

type Method<T> = <M extends T>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

/** Marks the handler of an operation. Compiles only if caller, input and output match the contract. */
export function Handles<I, O, A extends Operation>(
  operation: Operation<I, O> & A,
): Method<(caller: CallerFor<A>, input: I) => Promise<O>> {
  return (_target, _property, descriptor) => {
    Reflect.defineMetadata(operationKey, operation, descriptor.value as object);
  };
}

/** Marks the handler of a consumer, which must be idempotent: return to acknowledge, throw to redeliver. */
export function Consumes<D>(consumer: Consumer<D>): Method<(data: D, delivery: Delivery) => Promise<void>> {
  return (_target, _property, descriptor) => {
    Reflect.defineMetadata(consumerKey, consumer, descriptor.value as object);
  };
}

export function handledOperation(method: object): Operation | undefined {
  return Reflect.getMetadata(operationKey, method) as Operation | undefined;
}

export function declaredConsumer(method: object): Consumer | undefined {
  return Reflect.getMetadata(consumerKey, method) as Consumer | undefined;
}
