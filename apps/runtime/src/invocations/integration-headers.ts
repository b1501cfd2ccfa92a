import type { InstallationTarget } from '@parley/contracts/admin/targets';
import type { Invocation } from './invocation';

/** Headers of a call, as all versions of the SDK read them. An absent configuration type means the main configuration. */
export function integrationHeaders(
  target: InstallationTarget,
  { operation, type, attempt, traceparent }: Pick<Invocation, 'operation' | 'type' | 'attempt' | 'traceparent'>,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-bot-id': target.botId,
    'x-bot-user-id': target.botId,
    'x-integration-id': target.integrationId,
    'x-integration-alias': target.alias,
    'x-webhook-id': target.webhookId,
    'x-bp-operation': operation,
    'x-bp-type': type,
    'x-bp-configuration': Buffer.from(JSON.stringify(target.configuration)).toString('base64'),
    ...(target.configurationType !== null && { 'x-bp-configuration-type': target.configurationType }),
    'x-bp-attempt': String(attempt),
    traceparent,
  };
}
