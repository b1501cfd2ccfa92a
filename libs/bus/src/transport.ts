import { within } from '@parley/background/within';
import { ApiError } from '@parley/contracts/errors';
import { errorMessage } from './envelope';
import type { Message, RequestMessage } from './message';

/** Answers a request. A failure is an answer too; what it throws all the same becomes one. */
export type Answer = (message: RequestMessage) => Promise<Message>;

export interface Listening {
  /** Resolves when all that is told from now on is heard; rejects when the connection is lost before that. */
  live: Promise<void>;
  /** Nothing is heard after it, not even what was on its way. */
  stop(): void;
}

/**
 * Moves messages between services. Both adapters keep the same promises: nobody listening and a lost connection fail
 * at once (503), a missing answer fails at its deadline (504), and what is drained answers what it has taken.
 */
export interface Transport {
  /** Sends a request to one of those who serve the subject. Throws ApiError. */
  request(subject: string, message: RequestMessage, timeoutMs: number): Promise<Message>;
  /** Answers requests on the subject, sharing them with everyone of the same queue. */
  serve(subject: string, queue: string, answer: Answer): void;
  /** Tells everyone who listens right now. May be lost. What one process tells on one subject arrives in this order. */
  broadcast(subject: string, message: Message): void;
  /** A listener that throws is logged and disturbs nobody. It goes on when a lost connection is back. */
  listen(subject: string, listener: (message: Message) => void): Listening;
  /** Calls the listener each time that a lost connection is back: what was told meanwhile has not been heard. */
  onReconnected(listener: () => void): void;
  /** Throws unless requests can be sent and served. */
  ready(): Promise<void>;
  /**
   * Takes no further requests and broadcasts, and resolves when the requests under way are answered: after `timeoutMs`
   * with OperationTimeout.
   */
  drain(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** How long a drain waits unless it is told: the longest deadline of an operation. */
export const drainTimeoutMs = 30_000;
/** For the answers that a drain gives in place of those that have not come to leave. */
const lastAnswersMs = 100;

/** Knows what is under way, so that a drain can wait for it, and answers for what takes too long. */
export class InFlight {
  private readonly underWay = new Set<() => void>();
  private onIdle: () => void = () => undefined;

  /**
   * Sends what `work` gives, be it an error, or an error of ours when a stop cannot wait for it.
   * @param send deals with its own failures.
   */
  async answer(work: Promise<Message>, send: (reply: Message) => Promise<void> | void): Promise<void> {
    let isAnswered = false;
    const finish = async (reply: Message) => {
      if (isAnswered) return;
      isAnswered = true;
      await send(reply);
      this.underWay.delete(cut);
      if (this.underWay.size === 0) this.onIdle();
    };
    const cut = () => void finish(errorMessage(stopped()));
    this.underWay.add(cut);
    await finish(await work.catch(errorMessage));
  }

  /** Resolves when nothing is under way; what still is after `timeoutMs` is cut. */
  async settled(timeoutMs: number): Promise<void> {
    if (this.underWay.size === 0) return;
    const idle = new Promise<void>((resolve) => (this.onIdle = resolve));
    if (await within(timeoutMs, idle)) return;
    for (const cut of this.underWay) cut();
    await within(lastAnswersMs, idle);
  }
}

function stopped(): ApiError {
  return new ApiError('OperationTimeout', 'The process that works on it stops. It may still be done.');
}

/** What `work` gives, or OperationTimeout after `timeoutMs`. The work itself goes on. */
export function withDeadline<T>(subject: string, work: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(timedOut(subject, timeoutMs)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export function timedOut(subject: string, timeoutMs: number): ApiError {
  return new ApiError(
    'OperationTimeout',
    `${subject} did not answer within ${timeoutMs} ms. It may still do the work.`,
  );
}

export function tooLarge(what: string, maxBodyBytes: number): ApiError {
  return new ApiError('PayloadTooLarge', `The ${what} is larger than the limit of ${maxBodyBytes} bytes.`);
}
