import { HandleTable } from '@parley/background/handle-table';
import { withTimeout } from '@parley/background/with-timeout';
import { ApiError } from '@parley/contracts/errors';
import { errorMessage } from './envelope';
import type { Message, RequestMessage } from './message';

/** Handler of a request. Failures are messages too; an exception is converted to one. */
export type RequestHandler = (message: RequestMessage) => Promise<Message>;

export interface Subscription {
  /** Resolves once all further messages are received; rejects when the connection is lost before. */
  live: Promise<void>;
  /** Unsubscribes: also drops messages in transit. */
  stop(): void;
}

export interface SubscriptionOptions {
  /** Survives a drain: its owner stops it. */
  isKept?: boolean;
}

/**
 * Driver: messages between services. Guarantees of both adapters: 503 at once when no instance serves the subject or the
 * connection is down, 504 at the deadline without an answer, and a drain that answers all accepted requests.
 */
export interface Driver {
  /** Sends a request to one server of the subject. Throws ApiError. */
  request(subject: string, message: RequestMessage, timeoutMs: number): Promise<Message>;
  /** Serves requests on the subject; the members of a queue group share them. */
  serve(subject: string, queue: string, handler: RequestHandler): void;
  /** Serves requests on the subject, without a queue group: only one process may do so. */
  serveInstance(subject: string, handler: RequestHandler, options?: SubscriptionOptions): Subscription;
  /** Sends to all current listeners, at most once. Order is kept per sender and subject. */
  broadcast(subject: string, message: Message): void;
  /** Errors of a listener are logged and do not affect others. Subscriptions survive a reconnect. */
  listen(subject: string, listener: (message: Message) => void, options?: SubscriptionOptions): Subscription;
  /** Calls the listener after each reconnect. Messages sent while the connection was down are lost. */
  onReconnected(listener: () => void): void;
  /** Lets a drain wait for work that goes on after the answer to its request, such as a stream. */
  hold(work: Promise<unknown>): void;
  /** Throws unless requests can be sent and served. */
  ready(): Promise<void>;
  /**
   * Graceful shutdown: accepts no further requests and broadcasts, and resolves when pending requests are answered,
   * after `timeoutMs` with OperationTimeout, and held work has ended.
   */
  drain(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** Default drain timeout: the longest deadline of an operation of clients. Some of the operator's have 60 s. */
export const drainTimeoutMs = 30_000;
/** Time to send the OperationTimeout answers at the end of a drain. */
const lastAnswersMs = 100;

/** Pending requests, which a drain waits for and finally answers with an error. */
export class InFlight {
  private readonly underWay = new HandleTable<() => void>();
  private onIdle: () => void = () => undefined;

  /** Sends the result or error of `work`, or OperationTimeout when a drain ends first. `send` must not throw. */
  answer(work: Promise<Message>, send: (reply: Message) => Promise<void> | void): Promise<void> {
    let isAnswered = false;
    const finish = async (reply: Message) => {
      if (isAnswered) return;
      isAnswered = true;
      await send(reply);
      this.underWay.remove(handle);
      if (this.underWay.size === 0) this.onIdle();
    };
    const cut = () => void finish(errorMessage(stopped()));
    const handle = this.underWay.add(cut);
    return work.then(finish, (error: unknown) => finish(errorMessage(error)));
  }

  /** Counts as pending until it settles. */
  hold(work: Promise<unknown>): void {
    const handle = this.underWay.add(() => undefined);
    const end = () => {
      this.underWay.remove(handle);
      if (this.underWay.size === 0) this.onIdle();
    };
    work.then(end, end);
  }

  /** Resolves when no request is pending; those left after `timeoutMs` are answered with OperationTimeout. */
  async settled(timeoutMs: number): Promise<void> {
    if (this.underWay.size === 0) return;
    const idle = new Promise<void>((resolve) => (this.onIdle = resolve));
    if (await withTimeout(timeoutMs, idle)) return;
    for (const cut of this.underWay.values()) cut();
    await withTimeout(lastAnswersMs, idle);
  }
}

function stopped(): ApiError {
  return new ApiError(
    'OperationTimeout',
    'The process that handles the request is stopping. The operation may still be done: check before you try again.',
  );
}

/** Rejects with OperationTimeout after `timeoutMs`. The work itself continues. */
export function withDeadline<T>(subject: string, work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timedOut(subject, timeoutMs)), timeoutMs);
    const settle =
      <V>(end: (value: V) => void) =>
      (value: V) => {
        clearTimeout(timer);
        end(value);
      };
    work.then(settle(resolve), settle(reject));
  });
}

export function timedOut(subject: string, timeoutMs: number): ApiError {
  return new ApiError(
    'OperationTimeout',
    `${subject} did not answer within ${timeoutMs} ms. The operation may still be done: check before you try again.`,
  );
}

export function tooLarge(what: string, maxBodyBytes: number): ApiError {
  return new ApiError('PayloadTooLarge', `The ${what} exceeds the limit of ${maxBodyBytes} bytes.`);
}
