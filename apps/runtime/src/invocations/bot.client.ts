import { Injectable } from '@nestjs/common';
import type { BotTarget } from '@parley/contracts/admin/targets';
import { botHeaders } from './call-headers';
import { CalleeClient } from './callee.client';
import type { CalleeAnswer, Invocation } from './invocation';

/** Calls bots. */
@Injectable()
export class BotClient {
  constructor(private readonly callees: CalleeClient) {}

  /** Throws as `CalleeClient.call`. */
  invoke(target: BotTarget, invocation: Invocation): Promise<CalleeAnswer> {
    const callee = { ...target, owner: 'bot' as const, ownerId: target.botId };
    return this.callees.call(callee, botHeaders(target, invocation), invocation);
  }
}
