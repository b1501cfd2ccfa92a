import type { Access, Actor, CallerOf } from './access';

export type Class<T> = new () => T;
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** Method and path; a parameter is `{name}` and fills the input field of this name. */
export type Route = `${HttpMethod} /${string}`;

/** One thing that a service can be asked, with all that the gateway, the bus and the handler must agree on. */
export interface Operation<I = unknown, O = unknown, A extends Access = Access> {
  kind: 'operation';
  /** `<service>.<verb>`: where the bus finds its handler. */
  subject: string;
  /** Absent for operations that only services ask. */
  route?: Route;
  /** One sentence for the API's documentation. */
  summary: string;
  access: A;
  input: Class<I>;
  output: Class<O>;
  /** HTTP status of success. */
  status: number;
  /** How long the caller waits for the answer. */
  timeoutMs: number;
  bodyLimitBytes: number;
  /** What of the body may be how large, for who sends too much. */
  bodyLimitHint?: string;
  /** JSON values in a body: each costs whoever reads it, however short it is. */
  bodyLimitValues: number;
  /** Of an answer whose body is the text of `Text`; absent for JSON. */
  contentType?: string;
  /** Takes the header `Idempotency-Key`: its service does all of it by `Idempotency` of `libs/database`. */
  isIdempotent?: boolean;
}

type Defaults = 'kind' | 'status' | 'timeoutMs' | 'bodyLimitBytes' | 'bodyLimitValues';
type Declared<I, O, A extends Access> = Omit<Operation<I, O, A>, Defaults> & Partial<Pick<Operation, Defaults>>;

export type InputOf<T> = T extends Operation<infer I, unknown> ? I : never;
export type OutputOf<T> = T extends Operation<never, infer O> ? O : T extends Operation<infer _I, infer O> ? O : never;
export type CallerFor<T> = T extends Operation<infer _I, infer _O, infer A> ? CallerOf<A> : never;

const defaultBodyBytes = 2_000_000;
/** Bodies of callers whom nobody knows are small; those of end users hold a payload of 128 KB, at worst with each character escaped. */
const bodyBytesOf: Partial<Record<Actor, number>> = {
  anyone: 100_000,
  'chat-visitor': 100_000,
  'chat-user': 1_000_000,
};
/** More than any payload of 128 KB can have. Also the limit of what is left of a body when unknown fields are dropped. */
export const defaultBodyValues = 100_000;

/** Declares an operation: 10 s deadline, status 200 and bodies of 2 MB (1 MB of end users, 100 kB of strangers) unless it says otherwise. */
export function operation<I, O, A extends Access>(declared: Declared<I, O, A>): Operation<I, O, A> {
  return {
    kind: 'operation',
    status: 200,
    timeoutMs: 10_000,
    bodyLimitBytes: bodyBytesOf[declared.access.actor] ?? defaultBodyBytes,
    bodyLimitValues: defaultBodyValues,
    ...declared,
  };
}

/** Something that happened, told to whoever consumes it: at least once, in no promised order. */
export interface Event<D = unknown> {
  kind: 'event';
  /** `<service>.<past tense>`. */
  subject: string;
  data: Class<D>;
}

export function event<D>(declared: Omit<Event<D>, 'kind'>): Event<D> {
  return { kind: 'event', ...declared };
}

/** A durable wish for the events of one kind. All processes of an app share the work. */
export interface Consumer<D = unknown> {
  kind: 'consumer';
  /** `<app>.<verb>`. Not to be changed: under another name everything that the stream keeps comes again. */
  name: string;
  event: Event<D>;
  /** Events worked on at once in one process. */
  concurrency: number;
  /** Deliveries after which an event is a dead letter. */
  maxDeliveries: number;
}

type ConsumerDefaults = 'concurrency' | 'maxDeliveries';
type DeclaredConsumer<D> = Omit<Consumer<D>, 'kind' | ConsumerDefaults> & Partial<Pick<Consumer, ConsumerDefaults>>;

/** Declares a consumer: one event at a time and 10 deliveries unless it says otherwise. */
export function consumer<D>(declared: DeclaredConsumer<D>): Consumer<D> {
  return { kind: 'consumer', concurrency: 1, maxDeliveries: 10, ...declared };
}

/** A hint told to every process at once, which may be lost without harm. */
export interface Broadcast<D = unknown> {
  kind: 'broadcast';
  subject: string;
  data: Class<D>;
}

export function broadcast<D>(declared: Omit<Broadcast<D>, 'kind'>): Broadcast<D> {
  return { kind: 'broadcast', ...declared };
}

/**
 * News of one of many things, told to whoever follows that one right now, in the order in which one process tells them.
 * They may be lost: who follows must be able to ask for them.
 */
export interface Channel<D = unknown> {
  kind: 'channel';
  subject: string;
  data: Class<D>;
}

export function channel<D>(declared: Omit<Channel<D>, 'kind'>): Channel<D> {
  return { kind: 'channel', ...declared };
}

/** The operations of one service, grouped as its callers name them. */
export interface Contract {
  [name: string]: Operation | Contract;
}

export function operationsOf(contract: Contract): Operation[] {
  return Object.values(contract).flatMap((entry) => (isOperation(entry) ? [entry] : operationsOf(entry)));
}

function isOperation(entry: Operation | Contract): entry is Operation {
  return entry.kind === 'operation';
}
