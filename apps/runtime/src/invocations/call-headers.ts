import type { BotTarget, InstallationTarget } from '@parley/contracts/admin/targets';
import { actionDepthHeader } from '@parley/contracts/runtime/actions';
import type { Invocation } from './invocation';

type Call = Pick<Invocation, 'operation' | 'type' | 'attempt' | 'actionDepth' | 'traceparent'>;

/** Headers of a call of a bot, as all versions of the SDK read them. */
export function botHeaders({ botId, configuration, tags }: BotTarget, call: Call): Record<string, string> {
  return {
    ...commonHeaders(botId, call),
    'x-webhook-id': botId,
    // The payload is JSON text within JSON.
    'x-bp-configuration': base64({ payload: JSON.stringify(configuration) }),
    'x-bp-tags': base64(tags),
  };
}

/** Headers of a call of an integration. An absent configuration type means the main configuration. */
export function integrationHeaders(target: InstallationTarget, call: Call): Record<string, string> {
  return {
    ...commonHeaders(target.botId, call),
    'x-integration-id': target.integrationId,
    'x-integration-alias': target.alias,
    'x-webhook-id': target.webhookId,
    'x-bp-configuration': base64(target.configuration),
    ...(target.configurationType !== null && { 'x-bp-configuration-type': target.configurationType }),
  };
}

function commonHeaders(
  botId: string,
  { operation, type, attempt, actionDepth, traceparent }: Call,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-bot-id': botId,
    'x-bot-user-id': botId,
    'x-bp-operation': operation,
    'x-bp-type': type,
    'x-bp-attempt': String(attempt),
    ...(actionDepth !== undefined && { [actionDepthHeader]: String(actionDepth) }),
    traceparent,
  };
}

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}
