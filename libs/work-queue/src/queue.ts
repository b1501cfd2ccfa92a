import type { Transaction } from '@parley/persistence/database';

/** Queue of background work. Its payloads are stored, so later versions have to understand them. */
export interface Queue<Payload = unknown> {
  /** `<service>.<noun>`, unique within the service. Rows of the table `work` have it, so it is never renamed. */
  name: string;
  /**
   * Effect of adding a key that is being worked on: `ignored`, or `again` to run it once more after the current run.
   * A key that waits is never added twice.
   */
  repeated: 'ignored' | 'again';
  /** Work with the same ordering key runs one after the other, in the order of adding. */
  isOrdered: boolean;
  /** Type of the payload, without a value. */
  payload?: Payload;
}

export function queue<Payload = null>(
  name: string,
  { repeated = 'ignored', isOrdered = false }: Partial<Pick<Queue, 'repeated' | 'isOrdered'>> = {},
): Queue<Payload> {
  return { name, repeated, isOrdered };
}

export interface NewWork<Payload> {
  /** Unique within the queue. */
  key: string;
  /** Claims take turns by tenant. */
  tenant: string;
  payload: Payload;
  /** In ordered queues. Without it, the work waits for no other. */
  orderingKey?: string;
  /** At once when absent. */
  dueAt?: Date;
  /** W3C trace context of the cause; that of the active span when absent. */
  traceparent?: string;
}

/** Claimed work, as its handler gets it. */
export interface Work<Payload = unknown> {
  readonly key: string;
  readonly tenant: string;
  readonly payload: Payload;
  /** Number of this attempt, from 1. Attempts of processes that died count; those of processes that stopped do not. */
  readonly attempt: number;
  /** Earlier attempts that failed: they threw RetryAfter. Others ended with their process, or were interrupted. */
  readonly failures: number;
  readonly lastError: string | null;
  /** W3C trace context of the cause, if it was traced. */
  readonly traceparent?: string;
  readonly createdAt: Date;
  /** Aborted when the lease is lost, when the time limit has passed, and when the process stops. */
  readonly signal: AbortSignal;
  /** Fencing: throws LeaseLost when another process may have the key, and otherwise holds it until the commit. */
  confirm(tx: Transaction): Promise<void>;
  /** Like `confirm`, for a step of long work: attempts are counted anew, since the work has progressed. */
  advance(tx: Transaction): Promise<void>;
}

/** Result of a handler: done, or more work left of the same key, which runs again after the turns of other tenants. */
export type Outcome = void | 'more';

export type WorkHandler<Payload> = (work: Work<Payload>) => Promise<Outcome>;

export interface FailedWork<Payload> {
  key: string;
  tenant: string;
  payload: Payload;
  attempts: number;
}

/**
 * Runs before work is given up, at least once. If it resolves, the row is deleted, because the failure is recorded
 * elsewhere; without it, the row stays for an operator.
 */
export type FailureHandler<Payload = unknown> = (work: FailedWork<Payload>, reason: string) => Promise<void>;

export interface WorkerOptions {
  /** Keys that a process works on at once. */
  concurrency: number;
  /** Keys of one tenant that a process works on at once. No limit when absent. */
  perTenant?: number;
  /**
   * Tenants that get no further place for now. Asked before each claim and at the end of work. A tenant that is let go
   * otherwise needs a wake-up, such as that of parked work.
   */
  heldTenants?: () => string[];
  /** Lease of a process in milliseconds, renewed every third of it. Others take over when it ends. 15 s when absent. */
  leaseMs?: number;
  /** Attempts before the work fails. 10 when absent. */
  attempts?: number;
  /** Time limit of an attempt in milliseconds; Infinity for none. 10 min when absent. */
  timeoutMs?: number;
}

/** Thrown by a handler: the work fails without another attempt. */
export class GiveUp extends Error {
  override readonly name = 'GiveUp';
}

/** Thrown by a handler: the attempt does not count, and the next one starts after a pause. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';

  constructor(
    message: string,
    readonly pauseMs: number,
  ) {
    super(message);
  }
}

/**
 * Thrown by a handler: an expected failure, which is not logged. The attempt counts, also in `failures`, and the next one
 * starts after the pause.
 */
export class RetryAfter extends Error {
  override readonly name = 'RetryAfter';

  constructor(
    message: string,
    readonly pauseMs: number,
  ) {
    super(message);
  }
}

/**
 * Thrown by a handler: a process that the attempt needs ended under it. Like the end of its own process, it counts as an
 * attempt and not in `failures`. The pause grows with each such end.
 */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}

/** Thrown by a handler: another server asks for a pause. The attempt counts, and its backoff may be longer. */
export class ServerBusy extends Error {
  override readonly name = 'ServerBusy';

  constructor(
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}

/** Thrown by a handler: the attempt does not count, and the work waits until `WorkQueue.unpark` wakes it. */
export class Park extends Error {
  override readonly name = 'Park';

  /** @param until wakes the work without `unpark`, as a slow probe or as its end */
  constructor(
    message: string,
    readonly waitsFor: string,
    readonly until: Date,
  ) {
    super(message);
  }
}

/**
 * Thrown by a handler: work of the same ordering key has to run first. The attempt does not count. The work changes places
 * with the first of these keys that waits in the queue; if none was added yet, the next attempt starts after the pause.
 */
export class Yield extends Error {
  override readonly name = 'Yield';

  constructor(
    message: string,
    readonly keys: string[],
    readonly pauseMs: number,
  ) {
    super(message);
  }
}

/** Reason of the signal: another process may work on the key now. Stop without further changes. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}
