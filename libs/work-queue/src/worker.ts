import { type DiscoveryService, type MetadataScanner } from '@nestjs/core';
import type { Condition, DueRows } from '@parley/persistence/due-rows';
import type { FailureHandler, Queue, WorkerOptions, WorkHandler } from './queue';

const workers = Symbol('parley:workers');
const failures = Symbol('parley:failed-work');
const rounds = Symbol('parley:rounds');
const dueTasks = Symbol('parley:due-tasks');

type Method<T> = <M extends T>(
  target: object,
  property: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void;

/**
 * Worker of a queue, on a method of a provider or controller. Must be idempotent: return to finish, throw to retry with
 * a backoff, throw `GiveUp`, `Interrupted`, `RetryAfter`, `RetryLater`, `ServerBusy` or `Park` for other ends. Options may be read from
 * the provider, such as from its configuration.
 */
export function Worker<Payload, Self = unknown>(
  queue: Queue<Payload>,
  options: WorkerOptions | ((self: Self) => WorkerOptions),
): Method<WorkHandler<Payload>> {
  return mark(workers, { queue, options });
}

/** Handler of work that a worker has given up. The row is deleted after it. */
export function OnFailed<Payload>(queue: Queue<Payload>): Method<FailureHandler<Payload>> {
  return mark(failures, queue);
}

/** Round of a periodic task. */
export interface Round {
  /** Aborted when the process stops. */
  readonly signal: AbortSignal;
  /** Requests the next round after this time at the latest. Valid until that round has begun. */
  readonly againIn: (ms: number) => void;
}

export interface PeriodicTask<Self> {
  /** `<service>.<task>`, for logs and for `BackgroundTasks.wake`. */
  name: string;
  /** Pause between two rounds in milliseconds, varied by a tenth, so that replicas do not run at once. */
  everyMs: number | ((self: Self) => number);
}

/**
 * Periodic task of each process, on a method of a provider: runs at the start and after each pause. Return true to run
 * again at once.
 * Failures are logged and repeated after the pause.
 */
export function Every<Self = unknown>(task: PeriodicTask<Self>): Method<(round: Round) => Promise<boolean | void>> {
  return mark(rounds, task);
}

export interface DueTask<Self> extends PeriodicTask<Self> {
  rows: DueRows | Condition;
}

/**
 * Periodic task that runs while rows are due, or while a condition holds. One statement looks for all such tasks of the
 * service, and again when the next row becomes due. Return true after a change: the statement is repeated at once.
 */
export function WhenDue<Self = unknown>(task: DueTask<Self>): Method<(round: Round) => Promise<boolean | void>> {
  return mark(dueTasks, task);
}

function mark(key: symbol, value: unknown): Method<never> {
  return (_target, _property, descriptor) => {
    Reflect.defineMetadata(key, value, descriptor.value as object);
  };
}

interface Found<Value> {
  value: Value;
  instance: object;
  method: (...given: unknown[]) => Promise<unknown>;
}

/** Decorated methods of all providers and controllers of the app. */
export function findMarked(discovery: DiscoveryService, scanner: MetadataScanner) {
  const found = {
    workers: [] as Found<{ queue: Queue; options: WorkerOptions | ((self: unknown) => WorkerOptions) }>[],
    failures: [] as Found<Queue>[],
    rounds: [] as Found<PeriodicTask<unknown>>[],
    dueTasks: [] as Found<DueTask<unknown>>[],
  };
  const keys = { workers, failures, rounds, dueTasks };
  const instances = [...discovery.getProviders(), ...discovery.getControllers()].map(
    ({ instance }) => instance as unknown,
  );
  for (const instance of new Set(instances)) {
    if (typeof instance !== 'object' || instance === null) continue;
    const prototype = Object.getPrototypeOf(instance) as Record<string, Found<unknown>['method']> | null;
    for (const name of prototype ? scanner.getAllMethodNames(prototype) : []) {
      const method = prototype![name]!;
      for (const list of Object.keys(keys) as (keyof typeof keys)[]) {
        const value: unknown = Reflect.getMetadata(keys[list], method);
        if (value !== undefined)
          (found[list] as Found<unknown>[]).push({ value, instance, method: method.bind(instance) });
      }
    }
  }
  return found;
}
