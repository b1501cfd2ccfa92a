import { ApiError } from '@parley/contracts/errors';

/** What travels over the bus: the body is JSON text. */
export interface Message {
  headers: Record<string, string>;
  body: string;
}

/** Answers a request. A failure is an answer too; what it throws all the same becomes one. */
export type Answer = (message: Message) => Promise<Message>;

/**
 * Moves messages between services. Both adapters keep the same promises: nobody listening and a lost connection fail
 * at once (503), a missing answer fails at its deadline (504), and what is drained answers what it has taken.
 */
export interface Transport {
  /** Sends a request to one of those who serve the subject. Throws ApiError. */
  request(subject: string, message: Message, timeoutMs: number): Promise<Message>;
  /** Answers requests on the subject, sharing them with everyone of the same queue. */
  serve(subject: string, queue: string, answer: Answer): void;
  /** Tells everyone who listens right now. May be lost. */
  broadcast(subject: string, message: Message): void;
  /** A listener that throws is logged and disturbs nobody. */
  listen(subject: string, listener: (message: Message) => void): void;
  /** Throws unless requests can be sent and served. */
  ready(): Promise<void>;
  /** Takes no further requests and broadcasts, and resolves when the requests under way are answered. */
  drain(): Promise<void>;
  close(): Promise<void>;
}

/** Counts what is under way, so that a drain knows when it is done. */
export class InFlight {
  private count = 0;
  private idle: (() => void)[] = [];

  async track<T>(work: () => Promise<T>): Promise<T> {
    this.count += 1;
    try {
      return await work();
    } finally {
      this.count -= 1;
      if (this.count === 0) this.idle.splice(0).forEach((resolve) => resolve());
    }
  }

  /** Resolves when nothing is under way, at the latest after `timeoutMs`. */
  async settled(timeoutMs: number): Promise<void> {
    if (this.count === 0) return;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, timeoutMs);
    });
    await Promise.race([new Promise<void>((resolve) => this.idle.push(resolve)), timeout]);
    clearTimeout(timer);
  }
}

/** Longest wait for requests under way when a process stops: the longest deadline of an operation. */
export const drainTimeoutMs = 30_000;

/** What `work` gives, or OperationTimeout after `timeoutMs`. The work itself goes on. */
export async function withDeadline<T>(subject: string, work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timedOut(subject, timeoutMs)), timeoutMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
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
