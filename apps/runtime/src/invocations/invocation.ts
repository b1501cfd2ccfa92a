import type { LogContext } from '@parley/contracts/runtime/logs';

/** Call of a bot, independent of how it is reached. */
export interface Invocation {
  operation: 'event_received' | 'register' | 'ping' | 'action_triggered';
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
  /** W3C trace context. */
  traceparent: string;
  signal: AbortSignal;
}

/** Request of an invocation with its headers. The body is ASCII-only JSON: the SDK's server breaks other characters at chunk borders. */
export interface BotRequest {
  operation: Invocation['operation'];
  context?: LogContext;
  headers: Record<string, string>;
  body: string;
  timeoutMs: number;
  signal: AbortSignal;
}

export interface BotAnswer {
  status: number;
  body: string;
}

/** The bot cannot be called now, which is no failed attempt: its address is refused, or nothing serves it. */
export class BotUnavailable extends Error {
  override readonly name = 'BotUnavailable';

  /** @param retryAfterMs pause until the next look; changes of the bot wake its deliveries earlier */
  constructor(
    message: string,
    readonly retryAfterMs = 5 * 60_000,
  ) {
    super(message);
  }
}

/** No runner has a place for the code of the bot. */
export class NoRunner extends BotUnavailable {}

/** The workspace has used up its calls of this month. */
export class CallQuotaExceeded extends BotUnavailable {}

/** The bot did not answer in time. */
export class BotTimedOut extends Error {
  override readonly name = 'BotTimedOut';
}

/** The bot could not be reached, or broke off its answer. */
export class BotUnreachable extends Error {
  override readonly name = 'BotUnreachable';
}

/** Request or answer beyond a limit: another attempt would end the same way. */
export class BotExchangeTooLarge extends Error {
  override readonly name = 'BotExchangeTooLarge';
}

/** Whether the call failed because of the bot, and not because of the platform. */
export function isBotError(error: unknown): error is Error {
  return [BotUnavailable, BotTimedOut, BotUnreachable, BotExchangeTooLarge].some((type) => error instanceof type);
}
