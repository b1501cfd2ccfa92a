import type { ChangeOperation } from '@parley/contracts/chat/outgoing-messages';
import type { CodeTarget } from '@parley/contracts/runner/code';
import type { CodeOwner } from '@parley/contracts/runner/runner';
import type { LogContext } from '@parley/contracts/runtime/logs';

export type CallOperation =
  | 'event_received'
  | 'register'
  | 'unregister'
  | 'ping'
  | 'action_triggered'
  | 'message_created'
  | ChangeOperation
  | 'webhook_received';

/** Bot or integration with its address: a server of its own, or code. */
export interface Callee {
  owner: CodeOwner;
  /** Id of the bot, or of the version of the integration. */
  ownerId: string;
  /** Bot that is called, or that the integration is called for, and its workspace. */
  botId: string;
  workspaceId: string;
  url: string | null;
  code: CodeTarget | null;
  isBlocked: boolean;
  signingSecrets: string[];
  callsPerMonth: number;
  isOverQuota: boolean;
}

/** Call of a bot or of an integration, independent of how it is reached. */
export interface Invocation {
  operation: CallOperation;
  /** Event type or action name; for other operations the operation. */
  type: string;
  body: object;
  /** Key for idempotency: the same for each attempt. */
  id: string;
  /** From 1. */
  attempt: number;
  timeoutMs: number;
  /** Subjects of the call, for the log lines of code. */
  context?: LogContext;
  /** Number of actions that run within each other, this one included. */
  actionDepth?: number;
  /** W3C trace context. */
  traceparent: string;
  signal: AbortSignal;
}

/** Request of an invocation with its headers. The body is ASCII-only JSON: the SDK's server breaks other characters at chunk borders. */
export interface CallRequest {
  operation: CallOperation;
  context?: LogContext;
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  signal: AbortSignal;
}

export interface CalleeAnswer {
  status: number;
  body: string;
  /** Names in lower case. Absent without any. */
  headers?: Record<string, string>;
}

/** The bot or integration cannot be called now, which is no failed attempt: its address is refused, or nothing serves it. */
export class CalleeUnavailable extends Error {
  override readonly name = 'CalleeUnavailable';

  /** @param retryAfterMs pause until the next look; changes of the bot wake its deliveries earlier */
  constructor(
    message: string,
    readonly retryAfterMs = 5 * 60_000,
  ) {
    super(message);
  }

  /** Pause of work that waits since then. */
  pauseMs(_since: Date): number {
    return this.retryAfterMs;
  }
}

/** Code cannot be called now, and can later although nothing of it changes. Background work waits for it. */
export class CodeUnavailable extends CalleeUnavailable {
  /**
   * @param retryAfterMs longest pause
   * @param firstRetryMs pause of work that has just begun
   */
  constructor(
    message: string,
    retryAfterMs: number,
    private readonly firstRetryMs = retryAfterMs,
  ) {
    super(message, retryAfterMs);
  }

  /** Grows with the age of the work. */
  override pauseMs(since: Date): number {
    return Math.min(Math.max(Date.now() - since.getTime(), this.firstRetryMs), this.retryAfterMs);
  }
}

/** No runner is there. */
export class NoRunner extends CodeUnavailable {
  constructor(message: string) {
    // Runners tell when they have free places; the pauses are for those that could not.
    super(message, 5_000, 1_000);
  }
}

/** Runners are there, and none has a place for the code. */
export class RunnersBusy extends NoRunner {}

/** No runner could be given the code or its secrets: other code was deployed, or the service that owns it is away. */
export class CodeUnprepared extends NoRunner {}

/** The process of the code did not get ready, which is not the fault of the code. */
export class CodeNotStarted extends CodeUnavailable {
  constructor(message: string) {
    super(message, 30_000, 5_000);
  }
}

/** Processes of the code keep ending: none is started for `retryAfterMs`. */
export class CodePaused extends CodeUnavailable {}

/** The workspace has used up its calls of this month. */
export class CallQuotaExceeded extends CalleeUnavailable {}

/** It did not answer in time. */
export class CalleeTimedOut extends Error {
  override readonly name = 'CalleeTimedOut';
}

/** It could not be reached, or broke off its answer. */
export class CalleeUnreachable extends Error {
  override readonly name: string = 'CalleeUnreachable';
}

/** Its code cannot be loaded. */
export class NotLoadable extends CalleeUnreachable {
  override readonly name = 'NotLoadable';
}

/** The runner ended, stopped or fell silent under the call, which is no failed attempt. The code may have done its work. */
export class RunnerEnded extends Error {
  override readonly name = 'RunnerEnded';
}

/** Request or answer beyond a limit: another attempt would end the same way. */
export class ExchangeTooLarge extends Error {
  override readonly name = 'ExchangeTooLarge';
}

/** Whether the call failed for a reason that the caller may see. */
export function isCallError(error: unknown): error is Error {
  return [CalleeUnavailable, CalleeTimedOut, CalleeUnreachable, ExchangeTooLarge, RunnerEnded].some(
    (type) => error instanceof type,
  );
}

/** Whether the platform is the reason of the failure, and neither the bot nor the integration. */
export function isPlatformFault(error: unknown): boolean {
  return [NoRunner, CodeNotStarted, RunnerEnded].some((type) => error instanceof type);
}
