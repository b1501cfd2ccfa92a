import type { Access, Actor, CallerOf } from './access';

export type Class<T> = new () => T;
export type HttpMethod = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** Method and path. A path parameter `{name}` fills the input field of that name. */
export type Route = `${HttpMethod} /${string}`;

/** Operation of a service: the contract between gateway, bus and handler. */
export interface Operation<I = unknown, O = unknown, A extends Access = Access> {
  kind: 'operation';
  /** `<service>.<verb>`: subject of the bus. */
  subject: string;
  /** Absent for operations between services. */
  route?: Route;
  summary: string;
  access: A;
  input: Class<I>;
  output: Class<O>;
  status: number;
  /** Deadline of the caller. */
  timeoutMs: number;
  bodyLimitBytes: number;
  /** Added to the error for a body that is too large: which field may have which size. */
  bodyLimitHint?: string;
  /** Most JSON values in a body: each costs parsing time, however short it is. */
  bodyLimitValues: number;
  /** Content type of a response whose body is the field of `Text`; absent for JSON. */
  contentType?: string;
  /**
   * Accepts the header `Idempotency-Key`. The handler must run all of its work through `Idempotency` of
   * `libs/persistence`.
   */
  isIdempotent?: boolean;
  /** Has a route under `/v1`, and no method in the public client. */
  isOwn?: boolean;
  /** Query or header field that names another bot. Its service gets the account's role in it as `caller.otherBot`. */
  otherBotField?: string;
  /** Its service gets name and handle of the workspace as `caller.workspace.label`. */
  isWorkspaceLabelled?: boolean;
  /**
   * Channel and control of streamed answers. The gateway sends a `caller.answerKey` with each request: the service may
   * answer `StreamedAnswer` and stream the body under this key, and learns there that the client has gone.
   */
  answers?: AnswerStreams;
  /**
   * Field of the answer with generated content as a data URI, as `output.imageUrl`, or `audioUrl` in the last line of a
   * stream. The gateway stores the content as a file of the caller, and answers its address.
   */
  storedField?: 'imageUrl' | 'audioUrl';
  /** Format of its error bodies; absent for the platform's own. */
  errorFormat?: 'openai';
}

/** Bus subjects of the streamed answers of a service. */
export interface AnswerStreams<Frame = unknown, Control = unknown, State = unknown> {
  frames: Channel<Frame>;
  control: InstanceOperation<Control, State>;
}

type Defaults = 'kind' | 'status' | 'timeoutMs' | 'bodyLimitBytes' | 'bodyLimitValues';
type Declared<I, O, A extends Access> = Omit<Operation<I, O, A>, Defaults> &
  Partial<Pick<Operation, Defaults>> & { otherBotField?: keyof I };

export type InputOf<T> = T extends Operation<infer I, unknown> ? I : never;
export type OutputOf<T> = T extends Operation<never, infer O> ? O : T extends Operation<infer _I, infer O> ? O : never;
export type CallerFor<T> = T extends Operation<infer _I, infer _O, infer A> ? CallerOf<A> : never;

const defaultBodyBytes = 2_000_000;
/**
 * Limits for unauthenticated callers are small. End users send a payload of up to 128 KB, at worst with every character
 * escaped.
 */
const bodyBytesOf: Partial<Record<Actor, number>> = {
  anyone: 100_000,
  'chat-visitor': 100_000,
  'chat-user': 1_000_000,
};
/** More than a payload of 128 KB can have. Also limits the body after its unknown fields were dropped. */
export const defaultBodyValues = 100_000;

/**
 * Declares an operation. Defaults: a deadline of 10 s, status 200, and bodies of 2 MB (1 MB for end users, 100 kB
 * without authentication).
 */
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

/**
 * Operation of the one process that holds something, such as a stream or a tunnel. It is addressed by the key of that
 * thing, and fails at once when no process serves the key.
 */
export interface InstanceOperation<I = unknown, O = unknown> {
  kind: 'instance operation';
  subject: string;
  input: Class<I>;
  output: Class<O>;
  /** Deadline of the caller. */
  timeoutMs: number;
}

type DeclaredInstance<I, O> = Omit<InstanceOperation<I, O>, 'kind' | 'timeoutMs'> & { timeoutMs?: number };

/** Declares an operation of one process. Default: a deadline of 10 s. */
export function instanceOperation<I, O>(declared: DeclaredInstance<I, O>): InstanceOperation<I, O> {
  return { kind: 'instance operation', timeoutMs: 10_000, ...declared };
}

/** Event: published at least once, without a guaranteed order. */
export interface Event<D = unknown> {
  kind: 'event';
  /** `<service>.<past tense>`. */
  subject: string;
  data: Class<D>;
}

export function event<D>(declared: Omit<Event<D>, 'kind'>): Event<D> {
  return { kind: 'event', ...declared };
}

/** Durable consumer of one event. All processes of an app share its work. */
export interface Consumer<D = unknown> {
  kind: 'consumer';
  /** `<app>.<verb>`. Never rename: a consumer with a new name receives all events that the stream still holds. */
  name: string;
  event: Event<D>;
  concurrency: number;
  /** Delivery attempts before an event becomes a dead letter. */
  maxDeliveries: number;
}

type ConsumerDefaults = 'concurrency' | 'maxDeliveries';
type DeclaredConsumer<D> = Omit<Consumer<D>, 'kind' | ConsumerDefaults> & Partial<Pick<Consumer, ConsumerDefaults>>;

/** Declares a consumer. Defaults: one event at a time, 10 deliveries. */
export function consumer<D>(declared: DeclaredConsumer<D>): Consumer<D> {
  return { kind: 'consumer', concurrency: 1, maxDeliveries: 10, ...declared };
}

/** Best-effort message to every process. Its loss must do no harm. */
export interface Broadcast<D = unknown> {
  kind: 'broadcast';
  subject: string;
  data: Class<D>;
}

export function broadcast<D>(declared: Omit<Broadcast<D>, 'kind'>): Broadcast<D> {
  return { kind: 'broadcast', ...declared };
}

/**
 * Best-effort messages by key, delivered to current subscribers of that key in the order of one publisher. Subscribers
 * must be able to fetch lost messages.
 */
export interface Channel<D = unknown> {
  kind: 'channel';
  subject: string;
  data: Class<D>;
}

export function channel<D>(declared: Omit<Channel<D>, 'kind'>): Channel<D> {
  return { kind: 'channel', ...declared };
}

export interface Contract {
  [name: string]: Operation | Contract;
}

export function operationsOf(contract: Contract): Operation[] {
  return Object.values(contract).flatMap((entry) => (isOperation(entry) ? [entry] : operationsOf(entry)));
}

function isOperation(entry: Operation | Contract): entry is Operation {
  return entry.kind === 'operation';
}
