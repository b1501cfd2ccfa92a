import type { BotTarget } from '@parley/contracts/admin/targets';
import type { Invocation } from './invocation';

/** Headers of a call, as all versions of the SDK read them. */
export function botHeaders(
  target: BotTarget,
  { operation, type, attempt, traceparent }: Pick<Invocation, 'operation' | 'type' | 'attempt' | 'traceparent'>,
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'x-bot-id': target.botId,
    'x-bot-user-id': target.botId,
    'x-webhook-id': target.botId,
    'x-bp-operation': operation,
    'x-bp-type': type,
    // The payload is JSON text within JSON.
    'x-bp-configuration': base64({ payload: JSON.stringify(target.configuration) }),
    'x-bp-tags': base64(target.tags),
    'x-bp-attempt': String(attempt),
    traceparent,
  };
}

function base64(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}
