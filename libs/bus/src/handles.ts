import 'reflect-metadata';
import type { CallerFor, Event, Operation } from '@parley/contracts/operation';
import type { Delivery } from './event-stream';

const operationKey = Symbol('parley:operation');
const consumerKey = Symbol('parley:consumer');

/** Marks a method of this shape, or of one that takes fewer arguments. */
type Method<T> = <M extends T>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

/** This method answers the operation. Caller, input and answer must be those of the contract, or it does not compile. */
export function Handles<I, O, A extends Operation>(
  operation: Operation<I, O> & A,
): Method<(caller: CallerFor<A>, input: I) => Promise<O>> {
  return (_target, _property, descriptor) => {
    Reflect.defineMetadata(operationKey, operation, descriptor.value as object);
  };
}

export interface ConsumerDeclaration {
  event: Event;
  /** Durable name: `<service>.<verb>`. */
  name: string;
  concurrency: number;
  maxDeliveries: number;
}

/** This method consumes the event: it returns to acknowledge and throws to have it again. It must be safe to repeat. */
export function Consumes<D>(
  event: Event<D>,
  options: { name: string; concurrency?: number; maxDeliveries?: number },
): Method<(data: D, delivery: Delivery) => Promise<void>> {
  const declaration: ConsumerDeclaration = { event, concurrency: 1, maxDeliveries: 10, ...options };
  return (_target, _property, descriptor) => {
    Reflect.defineMetadata(consumerKey, declaration, descriptor.value as object);
  };
}

export function handledOperation(method: object): Operation | undefined {
  return Reflect.getMetadata(operationKey, method) as Operation | undefined;
}

export function consumedEvent(method: object): ConsumerDeclaration | undefined {
  return Reflect.getMetadata(consumerKey, method) as ConsumerDeclaration | undefined;
}
