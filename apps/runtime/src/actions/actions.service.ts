import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { type ActionTarget, targets } from '@parley/contracts/admin/targets';
import { systemCaller } from '@parley/contracts/caller';
import { chatActions, type PublishMessageStream, type SendChatEvent } from '@parley/contracts/chat/chat-actions';
import { integrationTargets } from '@parley/contracts/hub/integration-targets';
import { ApiError } from '@parley/contracts/errors';
import type { ActionReply, CallAction } from '@parley/contracts/runtime/actions';
import { SchemaChecker } from '@parley/json-schema/schema-checker';
import { tenantOf } from '@parley/transport/envelope';
import { ParleyClient } from '@parley/transport/parley-client';
import { legacyActions, legacyIntegrations, modelActions } from '@parley/contracts/models/model-actions';
import { toApiError } from '@parley/service/error-body';
import { ActionRunsService } from './action-runs.service';
import { ActionCallsService, partsOf } from './action-calls.service';

type Output = Record<string, unknown>;

/** Models of the platform, in place of an integration that the bot has not installed. */
interface ModelTarget {
  callee: 'models';
  integrationName: string;
  inputSchema: null;
}

/** Finds who answers an action, checks input and output against its schemas, and records the run. */
@Injectable()
export class ActionsService implements OnApplicationShutdown {
  private readonly checker = new SchemaChecker();

  constructor(
    private readonly client: ParleyClient,
    private readonly calls: ActionCallsService,
    private readonly runs: ActionRunsService,
  ) {}

  onApplicationShutdown(): Promise<void> {
    return this.checker.close();
  }

  async call(caller: BotCaller, action: CallAction): Promise<ActionReply> {
    const { type, input } = action;
    const botId = caller.bot.id;
    const target = await this.findTarget(caller, type);
    const problem = await this.problemOf(caller, target.inputSchema, input, 'input');
    if (problem) throw new ApiError('InvalidPayload', `${problem} (input of the action "${type}").`);
    const startedAt = new Date();
    const began = performance.now();
    const record = (output: Output | null, error: string | null) =>
      this.runs.record({
        ...{ botId, integrationName: target.integrationName, type, input, output, error, startedAt },
        durationMs: Math.round(performance.now() - began),
      });
    try {
      const output = await this.answer(caller, target, action);
      await record(output, null);
      return { output, meta: { cached: false } };
    } catch (error) {
      await record(null, error instanceof ApiError ? error.message : 'The platform failed: see its log.');
      throw error;
    }
  }

  /** Throws ResourceNotFound, and Runtime for an integration that cannot be called. */
  private async findTarget({ bot, requestId }: BotCaller, type: string): Promise<ActionTarget | ModelTarget> {
    const from = systemCaller(requestId);
    const target = await this.client.call(targets.getAction, from, { botId: bot.id, type }).catch((error: unknown) => {
      const model = toApiError(error).type === 'ResourceNotFound' ? modelTargetOf(type) : undefined;
      if (!model) throw error;
      return model;
    });
    if (target.callee === 'models') return target;
    const { integrationId, obstacle } = target;
    if (obstacle !== null) throw new ApiError('Runtime', obstacle);
    if (integrationId === null) return target;
    const [, action] = partsOf(type);
    return { ...target, ...(await this.client.call(integrationTargets.getAction, from, { integrationId, action })) };
  }

  private async answer(caller: BotCaller, target: ActionTarget | ModelTarget, action: CallAction): Promise<Output> {
    if (target.callee === 'models') return this.askModels(caller, target.integrationName, action);
    if (target.callee === 'chat') return { ...(await this.askChat(caller, action)) };
    const output = await (target.callee === 'bot'
      ? this.calls.callBot(caller, action)
      : this.calls.callIntegration(caller, action));
    const problem = await this.problemOf(caller, target.outputSchema, output, 'output').catch((error: unknown) => {
      // Without this, a 503 would say that nothing was done.
      throw new ApiError(
        'OperationTimeout',
        `The action "${action.type}" was done, but its answer could not be checked. Check before you try again.`,
        { cause: error },
      );
    });
    if (problem)
      throw new ApiError('Runtime', `The action "${action.type}" does not answer as it is defined: ${problem}.`);
    return output;
  }

  private async askModels(caller: BotCaller, integrationName: string, { type, input }: CallAction): Promise<Output> {
    const [, action] = partsOf(type);
    return (
      await this.client.call(modelActions.call, caller, {
        action: action as (typeof legacyActions)[number],
        integrationName,
        input,
      })
    ).output;
  }

  private askChat(caller: BotCaller, { type, input }: CallAction): Promise<object> {
    const [alias, name] = partsOf(type);
    const from = { ...systemCaller(caller.requestId), traceparent: caller.traceparent };
    const target = { botId: caller.bot.id, alias };
    // The schema of the action has been checked.
    if (name === 'sendEvent')
      return this.client.call(chatActions.sendEvent, from, {
        ...(input as Pick<SendChatEvent, 'conversationId' | 'payload'>),
        ...target,
      });
    return this.client.call(chatActions.publishMessageStream, from, {
      ...(input as unknown as Pick<PublishMessageStream, 'conversationId' | 'signal'>),
      ...target,
    });
  }

  /** Schemas with references are not checked: entities that they refer to may be defined elsewhere. */
  private async problemOf(caller: BotCaller, schema: Output | null | undefined, value: Output, path: string) {
    if (!schema || JSON.stringify(schema).includes('"$ref"')) return undefined;
    return this.checker.firstProblem(tenantOf(caller), [{ schema, value, path }]);
  }
}

/** Undefined unless clients built before 2026 call this action to reach a model. */
function modelTargetOf(type: string): ModelTarget | undefined {
  const [integrationName, action] = partsOf(type);
  const isLegacy =
    legacyIntegrations.includes(integrationName) && (legacyActions as readonly string[]).includes(action);
  return isLegacy ? { callee: 'models', integrationName, inputSchema: null } : undefined;
}
