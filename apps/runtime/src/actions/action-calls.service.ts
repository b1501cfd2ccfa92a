import { Injectable } from '@nestjs/common';
import { orWhenAborted } from '@parley/background/or-when-aborted';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { isRecord, recordIn } from '@parley/contracts/is-record';
import { actionTimeoutMs, type CallAction, maxActionDepth } from '@parley/contracts/runtime/actions';
import type { CodeOwner } from '@parley/contracts/runner/runner';
import { newId } from '@parley/persistence/ids';
import { newTraceparent } from '@parley/tracing/traceparent';
import { BotTargetsCache } from '../invocations/bot-targets.cache';
import { BotClient } from '../invocations/bot.client';
import { IntegrationClient } from '../invocations/integration.client';
import { IntegrationTargetsCache } from '../invocations/integration-targets.cache';
import {
  type CalleeAnswer,
  CalleeTimedOut,
  CalleeUnavailable,
  CallQuotaExceeded,
  type Invocation,
  isCallError,
  isPlatformFault,
  RunnerEnded,
  RunnersBusy,
} from '../invocations/invocation';
import { outcomeOf } from '../invocations/outcome';
import { ActionSlotsLimiter } from './action-slots.limiter';

type Output = Record<string, unknown>;

/** Calls actions of bots and of integrations. */
@Injectable()
export class ActionCallsService {
  constructor(
    private readonly targets: BotTargetsCache,
    private readonly bots: BotClient,
    private readonly integrationTargets: IntegrationTargetsCache,
    private readonly integrations: IntegrationClient,
    private readonly slots: ActionSlotsLimiter,
  ) {}

  /**
   * Action of the bot or of one of its plugins, which are part of its code. Returns the output. Throws Runtime when the
   * action failed, OperationTimeout, RateLimited, QuotaExceeded, or 503 without a runner.
   */
  callBot(caller: BotCaller, action: CallAction): Promise<Output> {
    return this.call(caller, action, 'bot', async () => {
      const target = await this.targets.get(caller.bot.id);
      return invoke(caller, action, target, (invocation) => this.bots.invoke(target, invocation));
    });
  }

  /** Action of an integration; `type` is its name with the alias of the installation. Throws as `callBot`. */
  callIntegration(caller: BotCaller, action: CallAction): Promise<Output> {
    return this.call(caller, action, 'integration', async () => {
      const [alias, type] = partsOf(action.type);
      const target = await this.integrationTargets.getByAlias(caller.bot.id, alias);
      return invoke(caller, { ...action, type }, target.integration, (invocation) =>
        this.integrations.invoke(target, invocation),
      );
    });
  }

  private async call(
    caller: BotCaller,
    { type }: CallAction,
    owner: CodeOwner,
    call: () => Promise<CalleeAnswer>,
  ): Promise<Output> {
    refuseTooDeep(caller, type);
    try {
      return outputOf(await this.slots.run(caller.bot.id, call), type, owner);
    } catch (error) {
      throw apiErrorOf(error, type);
    }
  }
}

/** Alias of the installation, and name of the action. */
export function partsOf(type: string): [string, string] {
  const separator = type.indexOf(':');
  return [type.slice(0, separator), type.slice(separator + 1)];
}

function refuseTooDeep({ actionDepth = 0 }: BotCaller, type: string): void {
  if (actionDepth < maxActionDepth) return;
  throw new ApiError(
    'Runtime',
    `The action "${type}" was not called: ${maxActionDepth} actions wait for each other already, which is the limit. Does an action call itself?`,
  );
}

/** One attempt: the caller decides whether to repeat an action. */
function invoke(
  caller: BotCaller,
  { type, input }: CallAction,
  target: { timeoutMs: number },
  send: (invocation: Invocation) => Promise<CalleeAnswer>,
): Promise<CalleeAnswer> {
  const timeoutMs = Math.min(target.timeoutMs, actionTimeoutMs);
  // Starting a process of the code takes some of the time too.
  const signal = AbortSignal.timeout(timeoutMs);
  const answer = send({
    ...{ operation: 'action_triggered', type, body: { type, input }, id: newId('action'), attempt: 1 },
    actionDepth: (caller.actionDepth ?? 0) + 1,
    ...{ timeoutMs, signal, traceparent: caller.traceparent ?? newTraceparent() },
  });
  return orWhenAborted(signal, answer, () => new CalleeTimedOut(`no answer within ${timeoutMs} ms`));
}

function outputOf(answer: CalleeAnswer, type: string, owner: CodeOwner): Output {
  const outcome = outcomeOf(answer, owner);
  if (outcome.kind !== 'processed') throw new ApiError('Runtime', outcome.reason);
  const output = recordIn(answer.body)?.['output'];
  if (isRecord(output)) return output;
  throw new ApiError(
    'Runtime',
    `The action "${type}" answered ${answer.status} without an output: a JSON object such as {"output": {…}} is expected.`,
  );
}

function apiErrorOf(error: unknown, type: string): unknown {
  if (!isCallError(error)) return error;
  const { message } = error;
  if (error instanceof RunnerEnded)
    return new ApiError('OperationTimeout', `The action "${type}" may have been done: ${message}`);
  if (error instanceof CalleeTimedOut)
    return new ApiError('OperationTimeout', `The action "${type}" did not answer in time: ${message}`);
  if (error instanceof CallQuotaExceeded) return new ApiError('QuotaExceeded', message);
  if (error instanceof RunnersBusy) return new ApiError('RateLimited', message, { retryAfterSeconds: 1 });
  if (isPlatformFault(error)) return unavailable(message);
  if (error instanceof CalleeUnavailable) return new ApiError('Runtime', message);
  return new ApiError('Runtime', `The action "${type}" failed: ${message}`);
}
