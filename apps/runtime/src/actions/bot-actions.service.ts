import { Injectable } from '@nestjs/common';
import { orWhenAborted } from '@parley/background/or-when-aborted';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import { isRecord, recordIn } from '@parley/contracts/is-record';
import { actionTimeoutMs, type CallAction } from '@parley/contracts/runtime/actions';
import { newId } from '@parley/persistence/ids';
import { newTraceparent } from '@parley/tracing/traceparent';
import { BotTargetsCache } from '../bot-targets/bot-targets.cache';
import { BotClient } from '../invocations/bot.client';
import {
  type BotAnswer,
  BotTimedOut,
  BotUnavailable,
  CallQuotaExceeded,
  isBotError,
  NoRunner,
} from '../invocations/invocation';
import { outcomeOf } from '../invocations/outcome';
import { ActionSlotsLimiter } from './action-slots.limiter';

/** Actions that the code of the bot answers: its own, and those of its plugins. */
@Injectable()
export class BotActionsService {
  constructor(
    private readonly targets: BotTargetsCache,
    private readonly bots: BotClient,
    private readonly slots: ActionSlotsLimiter,
  ) {}

  /** Returns the output. Throws Runtime when the action failed, OperationTimeout, RateLimited or QuotaExceeded. */
  async call(caller: BotCaller, { type, input }: CallAction): Promise<Record<string, unknown>> {
    try {
      const answer = await this.slots.run(caller.bot.id, () => this.invoke(caller, type, input));
      return outputOf(answer, type);
    } catch (error) {
      throw apiErrorOf(error, type);
    }
  }

  private async invoke(caller: BotCaller, type: string, input: object): Promise<BotAnswer> {
    const target = await this.targets.get(caller.bot.id);
    const timeoutMs = Math.min(target.timeoutMs, actionTimeoutMs);
    // Starting a process of the code takes some of the time too.
    const signal = AbortSignal.timeout(timeoutMs);
    const invocation = {
      operation: 'action_triggered' as const,
      body: { type, input },
      id: newId('action'),
      attempt: 1,
      traceparent: caller.traceparent ?? newTraceparent(),
    };
    return orWhenAborted(
      signal,
      this.bots.invoke(target, { ...invocation, type, timeoutMs, signal }),
      () => new BotTimedOut(`no answer within ${timeoutMs} ms`),
    );
  }
}

function outputOf(answer: BotAnswer, type: string): Record<string, unknown> {
  const outcome = outcomeOf(answer);
  if (outcome.kind !== 'processed') throw new ApiError('Runtime', outcome.reason);
  const output = recordIn(answer.body)?.['output'];
  if (isRecord(output)) return output;
  throw new ApiError(
    'Runtime',
    `The action "${type}" answered ${answer.status} without an output: a JSON object such as {"output": {…}} is expected.`,
  );
}

function apiErrorOf(error: unknown, type: string): unknown {
  if (!isBotError(error)) return error;
  const { message } = error;
  if (error instanceof BotTimedOut)
    return new ApiError('OperationTimeout', `The action "${type}" did not answer in time: ${message}`);
  if (error instanceof CallQuotaExceeded) return new ApiError('QuotaExceeded', message);
  if (error instanceof NoRunner) return new ApiError('RateLimited', message, { retryAfterSeconds: 1 });
  if (error instanceof BotUnavailable) return new ApiError('Runtime', message);
  return new ApiError('Runtime', `The action "${type}" failed: ${message}`);
}
