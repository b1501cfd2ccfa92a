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
}

/** No runner has a place for the code. */
export class NoRunner extends CalleeUnavailable {}

/** Processes of the code keep ending: none is started for `retryAfterMs`. */
export class CodePaused extends CalleeUnavailable {}

/** The workspace has used up its calls of this month. */
export class CallQuotaExceeded extends CalleeUnavailable {}

/** It did not answer in time. */
export class CalleeTimedOut extends Error {
  override readonly name = 'CalleeTimedOut';
}

/** It could not be reached, or broke off its answer. */
export class CalleeUnreachable extends Error {
  override readonly name = 'CalleeUnreachable';
}

/** Request or answer beyond a limit: another attempt would end the same way. */
export class ExchangeTooLarge extends Error {
  override readonly name = 'ExchangeTooLarge';
}

/** Whether the call failed because of the bot or integration, and not because of the platform. */
export function isCalleeError(error: unknown): error is Error {
  return [CalleeUnavailable, CalleeTimedOut, CalleeUnreachable, ExchangeTooLarge].some((type) => error instanceof type);
}
